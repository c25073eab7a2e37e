"""The cards that docs/decoders.md shows are valid and describe the published nets."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from caffe_proto.errors import CaffeError
from netdsl.prediction.decoders import cascade_of, decoder_of, recognize
from netdsl.prediction.decoders.decoder import Decoder
from netdsl.prediction.decoders.mtcnn import Mtcnn
from netdsl.prediction.decoders.ssd import Ssd
from netdsl.prediction.decoders.ultraface import UltraFace

PAGE = Path(__file__).parents[3] / "docs" / "decoders.md"


def shown_decoders() -> list[Decoder | Mtcnn]:
    """Return the decoders of the page's cards, whose values are text as in a card."""
    blocks = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    cards: list[dict[str, Any]] = [yaml.load(block, yaml.BaseLoader) for block in blocks]
    outputs = [card["output"] for card in cards if "output" in card]
    return [cascade_of(output) or decoder_of(output) for output in outputs]


def test_every_family_of_the_page_has_a_valid_card() -> None:
    named = set(re.findall(r"^\| `(\w+)` \| \[", PAGE.read_text(), re.M))
    assert {decoder.name for decoder in shown_decoders()} == named


def test_the_card_for_ssd_has_the_published_number_of_priors() -> None:
    (decoder,) = (decoder for decoder in shown_decoders() if isinstance(decoder, Ssd))
    assert sum(prior_map.count for prior_map in decoder.priors) == 1917


def test_cards_of_recognized_families_state_the_default_settings() -> None:
    for decoder in shown_decoders():
        if isinstance(decoder, Decoder) and decoder.name in ("ultraface", "facemask", "centerface"):
            names = {role: decoder.names_of(role) for role in decoder.published}
            if names.get("landmarks") and isinstance(decoder, UltraFace):
                found = recognize({"output0": (16800, 4), "590": (16800, 2), "589": (16800, 10)}, (640, 640))
                assert found is not None and found.decoder == decoder
                continue
            assert names == type(decoder).published
            assert decoder == type(decoder)(blobs=decoder.blobs)


@pytest.mark.parametrize(
    "decoder",
    [decoder for decoder in shown_decoders() if isinstance(decoder, Decoder)],
    ids=lambda decoder: decoder.name,
)
def test_blobs_of_any_shape_are_decoded_or_refused(decoder: Decoder) -> None:
    draw = np.random.default_rng(0)
    for _ in range(50):
        outputs = {name: draw.normal(0, 50, draw.integers(0, 9, draw.integers(0, 4))) for name in decoder.blob_names}
        with suppress(CaffeError):
            decoder.decode(outputs, (64, 64))
