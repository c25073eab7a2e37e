"""The work of a pass, which is counted before the pass and limited."""

from __future__ import annotations

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from caffe_proto.errors import LimitError
from netdsl.model.model import open_net
from netdsl.net.build import Built
from netdsl.net.graph import Phase
from netdsl.net.work import check_pass


def built(*layers: str) -> Built:
    first = 'layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 1 dim: 4 dim: 10 dim: 10 } } }'
    return open_net(from_text("\n".join((first, *layers)), pb.NetParameter)).layers(Phase.TEST)


@pytest.mark.parametrize(
    ("layer", "products"),
    [
        ('"Convolution" convolution_param { num_output: 6 kernel_size: 3 }', 6 * 8 * 8 * 4 * 9),
        ('"Convolution" convolution_param { num_output: 4 group: 4 kernel_size: 3 }', 4 * 8 * 8 * 9),
        ('"Deconvolution" convolution_param { num_output: 6 kernel_size: 2 stride: 2 }', 4 * 10 * 10 * 6 * 4),
        ('"InnerProduct" inner_product_param { num_output: 7 }', 7 * 400),
        ('"Pooling" pooling_param { kernel_size: 5 }', 4 * 6 * 6 * 25),
        ('"Pooling" pooling_param { global_pooling: true }', 400),
        ('"ReLU"', 0),
    ],
)
def test_the_products_of_a_layer_are_those_of_its_windows(layer: str, products: int) -> None:
    net = built(f'layer {{ name: "y" bottom: "x" top: "y" type: {layer} }}')
    node, module = list(net.pairs())[-1]
    bottoms, tops = ([net.shapes[edge] for edge in edges] for edges in (node.bottoms, node.tops))
    assert module.products(bottoms, tops) == products


def test_a_pass_has_a_limit_on_its_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    net = built('layer { name: "y" bottom: "x" top: "y" type: "InnerProduct" inner_product_param { num_output: 7 } }')
    needed = 400 + 407 + 7 * 400  # the values of both layers, and the products
    monkeypatch.setenv("NETDSL_LIMITS", f"pass-operations={needed}")
    check_pass(net, 0, "the pass")
    monkeypatch.setenv("NETDSL_LIMITS", f"pass-operations={needed - 1}")
    with pytest.raises(LimitError, match=f"the pass needs {needed:,} operations or more"):
        check_pass(net, 0, "the pass")
    check_pass(net, 100, "the pass")  # a larger file may ask for more


def test_a_pass_has_a_limit_on_the_memory_for_one_layer_and_twice_the_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    net = built('layer { name: "y" bottom: "x" bottom: "x" bottom: "x" top: "y" type: "Concat" }')
    monkeypatch.setenv("NETDSL_LIMITS", "pass-memory=14400")
    check_pass(net, 0, "the pass")
    monkeypatch.setenv("NETDSL_LIMITS", "pass-memory=14399")
    with pytest.raises(LimitError, match="the pass needs 14,400 bytes or more, but the limit 'pass-memory' allows"):
        check_pass(net, 0, "the pass")


def test_the_memory_for_one_layer_includes_the_windows_of_a_deconvolution(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = "convolution_param { num_output: 6 kernel_size: 2 stride: 2 }"
    net = built(f'layer {{ name: "y" bottom: "x" top: "y" type: "Deconvolution" {settings} }}')
    windows = 6 * 2 * 2 * 100  # one for each place of the bottom
    needed = 4 * (400 + 6 * 400 + windows + 6 * 400)
    monkeypatch.setenv("NETDSL_LIMITS", f"pass-memory={needed}")
    check_pass(net, 0, "the pass")
    monkeypatch.setenv("NETDSL_LIMITS", f"pass-memory={needed - 1}")
    with pytest.raises(LimitError, match=f"the pass needs {needed:,} bytes or more"):
        check_pass(net, 0, "the pass")
