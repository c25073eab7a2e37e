"""Labels that are no class: the error names the layer, the value and its place, and no other class is taken instead."""

from __future__ import annotations

import math

import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.errors import NetError
from netdsl.net.net import Net

LAYERS = {
    "SoftmaxWithLoss": "",
    "MultinomialLogisticLoss": "",
    "HingeLoss": "",
    "Accuracy": "",
    "InfogainLoss": "",
    "MarginInnerProduct": "margin_inner_product_param { num_output: 3 type: DOUBLE }",
}


def net_of(kind: str) -> Net:
    third = 'bottom: "h"' if kind == "InfogainLoss" else ""
    text = f"""
    layer {{ name: "in" type: "Input" top: "x" top: "label" top: "h"
             input_param {{ shape {{ dim: 4 dim: 3 }} shape {{ dim: 4 }} shape {{ dim: 1 dim: 1 dim: 3 dim: 3 }} }} }}
    layer {{ name: "judge" type: "{kind}" bottom: "x" bottom: "label" {third} top: "y" {LAYERS[kind]} }}"""
    return Net(from_text(text, pb.NetParameter))


def run(kind: str, labels: list[float]) -> None:
    net_of(kind).forward(x=torch.rand(4, 3), label=torch.tensor(labels), h=torch.eye(3)[None, None])


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize(
    ("value", "name"), [(math.nan, "nan"), (1.5, "1.5"), (math.inf, "inf"), (-0.25, "-0.25"), (1e30, "1e+30")]
)
def test_a_label_that_is_no_whole_number(kind: str, value: float, name: str) -> None:
    with pytest.raises(NetError) as raised:
        run(kind, [0, 2, value, 1])
    what = f"layer 'judge': label {name} is no class, for it isn't a whole number; it is at"
    assert str(raised.value) in [f"{what} {place} of the labels: change it" for place in ("[2]", "[2, 0]")]


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("value", [3, -1])
def test_a_label_beyond_the_classes(kind: str, value: int) -> None:
    with pytest.raises(
        NetError, match=rf"layer 'judge': label {value} is none of 3 classes, which are 0 to 2; it is at"
    ):
        run(kind, [0, 2, 1, value])


@pytest.mark.parametrize("kind", LAYERS)
def test_labels_that_are_classes(kind: str) -> None:
    run(kind, [0, 2, 1, 0])
