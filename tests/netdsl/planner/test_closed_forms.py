"""The paper's equations, with numbers that were computed by hand."""

from __future__ import annotations

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.errors import NetError
from netdsl.net.build import build
from netdsl.net.graph import Phase, resolve
from netdsl.planner.closed_forms import ClosedForms, FeatureLayer, closed_forms
from zoo.catalogue import entry_of

SMALL = """
layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 dim: 9 dim: 7 } } }
layer { name: "conv" type: "Convolution" bottom: "x" top: "conv"
        convolution_param { num_output: 5 kernel_size: 3 pad: 1 stride: 2 } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool" pooling_param { kernel_h: 3 kernel_w: 2 stride: 2 } }
layer { name: "ip1" type: "InnerProduct" bottom: "pool" top: "ip1" inner_product_param { num_output: 11 } }
layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2" inner_product_param { num_output: 4 } }
"""


def forms(text: str) -> ClosedForms:
    return closed_forms(build(resolve(from_text(text, pb.NetParameter), Phase.TRAIN)))


def test_the_net_in_the_papers_terms() -> None:
    found = forms(SMALL)
    assert found.image == (9, 7, 3)
    assert found.features == (
        FeatureLayer("conv", (9, 7, 3), (3, 3), (2, 2), (1, 1), 5),
        FeatureLayer("pool", (5, 4, 5), (3, 2), (2, 2), (0, 0), 0),
    )
    assert found.neurons == (11, 4)


def test_the_equations_on_a_small_net() -> None:
    found = forms(SMALL)
    assert [layer.top for layer in found.features] == [(5, 4, 5), (2, 2, 5)]  # Equation 1
    assert found.feature_bits(10) == (9 * 7 * 3 + 5 * 4 * 5 + 2 * 2 * 5) * 10 * 32 == 98_880
    assert found.parameter_bits() == (3 * 3 * 3 * 5 + 5) * 3 * 32 == 13_440
    assert found.classification_bits() == (11 + 4) * 32 + 11 * 4 * 3 * 32 + 1 * 3 * 32 == 4_800
    assert found.bound_bits(1_000_000, 10) == 1_000_000 - 98_880 - 13_440 - 4_800
    assert found.bound_bytes(125_000, 10) == found.bound_bits(1_000_000, 10) // 8
    assert found.total_bytes(10) == (98_880 + 13_440 + 4_800) // 8


def test_the_equations_on_alexnet() -> None:
    entry = entry_of("alexnet")
    found = closed_forms(build(resolve(entry.deploy(), Phase.TEST)))
    sizes = [(55, 96), (27, 96), (27, 256), (13, 256), (13, 384), (13, 384), (13, 256), (6, 256)]
    assert [layer.top for layer in found.features] == [(side, side, depth) for side, depth in sizes]
    values = 227 * 227 * 3 + sum(side * side * depth for side, depth in sizes)
    assert found.feature_bits(128) == values * 128 * 32
    weights = 11 * 11 * 3 * 96 + 25 * 96 * 256 + 9 * (256 * 384 + 384 * 384 + 384 * 256)
    assert found.parameter_bits() == (weights + 96 + 256 + 384 + 384 + 256) * 3 * 32
    assert found.neurons == (4096, 4096, 1000)
    assert found.classification_bits() == 9192 * 32 + (4096 * 4096 + 4096 * 1000 + 2) * 3 * 32


def test_what_the_equations_dont_describe_is_refused() -> None:
    up = SMALL.replace('"conv" type: "Convolution"', '"conv" type: "Deconvolution"').replace('"pool" type', '"p" type')
    with pytest.raises(NetError, match="layer 'conv' isn't a convolution or a pooling as the paper's Equation 1"):
        forms(up)
    with pytest.raises(NetError, match="no input of images"):
        forms('layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 } } }')
