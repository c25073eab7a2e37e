"""A net described in Python: what doesn't fit is told where it is written."""

from __future__ import annotations

from typing import Any

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl import Constructor, Convolution, InnerProduct, NetParams, Pooling, RDDLayer, ReLU
from netdsl.errors import GraphError, NetError, ShapeError, UnknownLayerError

DATA = RDDLayer("data", shape=[2, 3, 8, 9])


def test_a_net_is_its_name_layers_and_settings() -> None:
    params = NetParams("n", DATA, ReLU("r", ["data"]), force_backward=True, state={"stage": "a"})
    assert params.message == from_text(
        'name: "n" force_backward: true state { stage: "a" } '
        'layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 dim: 8 dim: 9 } } } '
        'layer { name: "r" type: "ReLU" bottom: "data" top: "r" }',
        pb.NetParameter,
    )
    assert from_text(params.prototxt(), pb.NetParameter) == params.message
    assert params == NetParams("n", DATA, ReLU("r", ["data"]), force_backward=True, state={"stage": "a"})
    assert params != NetParams("m", DATA, ReLU("r", ["data"]), force_backward=True, state={"stage": "a"})


def test_a_net_without_a_name_has_none() -> None:
    assert not NetParams(DATA).message.HasField("name")
    assert NetParams("", DATA).message.HasField("name")


@pytest.mark.parametrize(
    ("layers", "kind", "message"),
    [
        ([Convolution("c", ["data"], num_output=4, kernel_size=11)], ShapeError, "layer 'c'"),
        ([Pooling("p", ["data"], kernel_size=2, pad=3)], NetError, "layer 'p': pad 3 must be smaller than kernel 2"),
        ([InnerProduct("i", ["data"], num_output=2, axis=7)], ShapeError, "layer 'i': axis 7 doesn't exist"),
        ([ReLU("r", ["dato"])], GraphError, "layer 'r': bottom 'dato' is no top .*; did you mean 'data'[?]"),
        (
            [ReLU("r", ["data"]), ReLU("q", ["data"], tops=["r"])],
            GraphError,
            "layer 'q': top 'r' is also a top of layer 'r'",
        ),
        ([Constructor("Convolutoin")("c", ["data"])], UnknownLayerError, "'Convolutoin' .*mean Convolution[?]"),
    ],
)
def test_layers_that_do_not_fit_are_an_error_at_once(
    layers: list[pb.LayerParameter], kind: type[NetError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        NetParams("n", DATA, *layers)


@pytest.mark.parametrize(
    ("layers", "settings", "message"),
    [
        ([DATA, [DATA]], {}, r"net 'n': number 2 of its layers is a list, not a layer; write \* before it"),
        ([ReLU], {}, "net 'n': number 1 of its layers is a Constructor, not a layer"),
        (
            [DATA],
            {"force_backwards": True},
            "net 'n': there is no setting 'force_backwards'; did you mean force_backward",
        ),
    ],
)
def test_what_is_no_layer_or_setting_is_told(layers: list[Any], settings: dict[str, Any], message: str) -> None:
    with pytest.raises(NetError, match=message):
        NetParams("n", *layers, **settings)
