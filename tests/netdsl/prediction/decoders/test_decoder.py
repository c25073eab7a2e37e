"""Decoders from the fields of cards, their blobs, and the choice of detections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from netdsl.errors import DecoderError
from netdsl.prediction.decoders import DECODERS, decoder_of
from netdsl.prediction.decoders.decoder import DetectionDecoder, Detections, Outputs, Size
from netdsl.registry import register_decoder


@dataclass(frozen=True, kw_only=True)
class Corners(DetectionDecoder):
    """Reads boxes and scores that are already decoded."""

    name = "corners"
    published: ClassVar = {"boxes": ("boxes",), "scores": ("scores",)}

    def decode(self, outputs: Outputs, size: Size) -> Detections:
        return self.best_of_classes(self.rows(outputs, "boxes", 4), self.rows(outputs, "scores", 2))


@pytest.fixture
def registered():
    register_decoder(Corners)
    yield
    DECODERS.unregister("corners")


OUTPUTS = {
    "boxes": np.array([[0, 0, 10, 10], [0, 0, 10, 9], [20, 20, 30, 30]]),
    "scores": np.array([[0.9, 0.6], [0.8, 0.1], [0.2, 0.7]]),
}


def test_a_registered_decoder_is_made_from_the_text_in_a_card(registered):
    decoder = decoder_of({"decoder": "corners", "threshold": "0.25", "names": ["cat", "dog"], "blobs": {"boxes": "b"}})
    assert decoder == Corners(threshold=0.25, names=("cat", "dog"), blobs={"boxes": "b"})
    assert decoder.blob_names == ("b", "scores")


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ({}, "output.decoder: there is no decoder ''"),
        ({"decoder": "corner"}, "output.decoder: there is no decoder 'corner'; did you mean corners"),
        ({"decoder": "corners", "treshold": "1"}, "output.treshold: the decoder 'corners' has no such setting"),
        ({"decoder": "corners", "threshold": "high"}, "output.threshold: expected `float`"),
        ({"decoder": "corners", "threshold": "nan"}, "output.threshold is nan; set it to a number from 0 to 1"),
        ({"decoder": "corners", "candidates": "1000000000"}, "output.candidates is 1e"),
        ({"decoder": "corners", "blobs": {"places": "b"}}, "output.blobs: 'places' isn't a role"),
    ],
)
def test_a_wrong_field_of_a_card_is_named(registered, output, message):
    with pytest.raises(DecoderError) as problem:
        decoder_of(output)
    assert message in str(problem.value)


def test_boxes_of_one_label_suppress_each_other(registered):
    found = Corners(overlap=0.5).decode(OUTPUTS, (40, 40))
    assert found.scores.tolist() == [0.9, 0.7, 0.6]
    assert found.labels.tolist() == [0, 1, 1]
    assert found.boxes[1].tolist() == [20, 20, 30, 30]


def test_only_the_best_detections_remain(registered):
    assert Corners(overlap=0.5, most=2).decode(OUTPUTS, (40, 40)).scores.tolist() == [0.9, 0.7]
    assert Corners(overlap=1, candidates=1).decode(OUTPUTS, (40, 40)).scores.tolist() == [0.9, 0.7]


def test_a_missing_blob_is_named():
    with pytest.raises(DecoderError, match="the net doesn't compute 'boxes'; use one of scores"):
        Corners().decode({"scores": OUTPUTS["scores"]}, (40, 40))


def test_outputs_that_are_not_finite_are_refused():
    with pytest.raises(DecoderError, match=r"blob 'boxes': .* isn't finite"):
        Corners().decode(OUTPUTS | {"boxes": np.full((3, 4), np.nan)}, (40, 40))
