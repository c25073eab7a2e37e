"""The settings of the data layer that prepared a net's images: from the net, or from the net in its weights file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from google.protobuf import text_format

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import CaffeFile
from netdsl.errors import NetError
from netdsl.model.model import Model, open_net
from zoo.answers.layer_settings import LayerSettings, describe_unknown, layer_settings

DEPLOY = "layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: [1, 3, 8, 8] } } }"
LAYER = "layer {{ name: 'data' type: 'Data' top: '{}' top: 'label' transform_param {{ {} }} }}"
WEIGHTS = Path("elsewhere/net.caffemodel")


def net(text: str) -> pb.NetParameter:
    message = pb.NetParameter()
    text_format.Parse(text, message)
    return message


def trained(transform: str, top: str = "data") -> Model:
    """Return a deployed net with weights from a file whose net has a data layer with these settings."""
    saved = net(LAYER.format(top, transform))
    return replace(open_net(net(DEPLOY)), file=CaffeFile(saved), sources={"conv": WEIGHTS})


def settings(model: Model) -> LayerSettings | None:
    return layer_settings(model, None, Path(), "data")


def test_the_net_in_the_weights_tells_how_values_change_but_not_which_part_of_an_image_is_used() -> None:
    found = settings(
        trained("scale: 0.5 mean_value: 104 mirror: true crop_size: 4 resize_param { height: 9 width: 9 }")
    )
    assert found is not None
    assert str(found.usable()).split() == ["scale:", "0.5", "mean_value:", "104"]
    assert "as in the data layer of the net in elsewhere/net.caffemodel, they are gray" in found.describe("gray")


def test_a_layer_in_the_net_itself_comes_first_and_keeps_all_settings() -> None:
    model = replace(trained("scale: 0.5"), net=net(LAYER.format("data", "scale: 2 crop_size: 4")))
    found = settings(model)
    assert found is not None and (found.usable().scale, found.usable().crop_size) == (2, 4)
    assert "as in the net's data layer, they are gray" in found.describe("gray")


@pytest.mark.parametrize("model", [open_net(net(DEPLOY)), trained("scale: 0.5", top="other")])
def test_without_a_layer_that_produces_the_blob_nothing_is_known(model, tmp_path) -> None:
    assert settings(model) is None
    assert describe_unknown("gray", tmp_path, as_published=False).endswith("they are gray")
    (tmp_path / "mean.binaryproto").touch()
    assert describe_unknown("gray", tmp_path, as_published=False).endswith(
        "gray; to subtract mean.binaryproto, set `mean` in the `input` of a card"
    )


@pytest.mark.parametrize("stated", ["/home/author/mean.binaryproto", "C:\\\\caffe\\\\mean.binaryproto"])
def test_a_mean_image_is_found_next_to_the_net_or_the_weights(stated, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    own, saved = (
        Model(net(LAYER.format("data", f"mean_file: '{stated}'")), sources={"conv": WEIGHTS}),
        trained(f"mean_file: '{stated}' scale: 0.5"),
    )
    missing = settings(saved)
    assert missing is not None and (missing.usable().mean_file, missing.usable().scale) == ("", 0.5)
    assert missing.describe("gray").endswith("isn't subtracted, because there is no such file: put it next to the net")
    with pytest.raises(NetError, match="there is no such file; put it next to the net, or set `mean`"):
        settings(own).usable()
    for place in (WEIGHTS.parent, Path()):
        place.mkdir(exist_ok=True)
        (place / "mean.binaryproto").touch()
        for model in (own, saved):
            assert settings(model).usable().mean_file == str(place / "mean.binaryproto")
