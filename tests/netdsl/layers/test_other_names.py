"""Names that forks give to layers that exist here."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl import Net
from netdsl.errors import UnknownLayerError
from netdsl.layers import LAYERS, meaning_of
from netdsl.layers._other_names import OTHER_NAMES, type_for

IMAGE = 'layer { name: "x" type: "Input" top: "x" input_param { shape { dim: [2, 4, 6, 6] } } }\n'


def test_no_other_name_is_the_name_of_a_type() -> None:
    assert OTHER_NAMES.keys().isdisjoint(name.lower() for name in LAYERS)


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_every_other_name_means_a_known_type_with_valid_settings(name: str) -> None:
    meaning = type_for(name)
    assert meaning is not None
    kind, settings = meaning
    assert kind in LAYERS
    assert from_text(f'name: "y" type: "{kind}" {settings}', pb.LayerParameter).type == kind


def test_an_unknown_type_is_explained_with_the_settings_that_make_it_the_same(tmp_path: Path) -> None:
    file = tmp_path / "net.prototxt"
    file.write_text(IMAGE + 'layer { name: "y" type: "L2NormalizeLayer" bottom: "x" top: "y" }')
    with pytest.raises(UnknownLayerError) as caught:
        Net(file)
    meaning = (
        "Normalize with param { lr_mult: 0 decay_mult: 0 } norm_param { channel_shared: true across_spatial: false }"
    )
    assert f"'L2NormalizeLayer' (layers y, did you mean {meaning}?)" in str(caught.value)
    file.write_text(IMAGE + f'layer {{ name: "y" bottom: "x" top: "y" type: "{meaning.replace(" with", chr(34), 1)} }}')
    x = torch.randn(2, 4, 6, 6)
    torch.testing.assert_close(Net(file).forward(x=x)["y"], x / x.norm(dim=1, keepdim=True))


def test_a_typing_mistake_is_still_recognized() -> None:
    assert (meaning_of("Convolutoin"), meaning_of("INNER_PRODUCT"), meaning_of("Foo")) == (
        "Convolution",
        "InnerProduct",
        None,
    )
