"""How in-place layers change gradients, here and in Caffe, line by line of docs/caffe_differences.md."""

from __future__ import annotations

import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.errors import GraphError
from netdsl.layers.split import insert_splits
from netdsl.net.build import build
from netdsl.net.caffe_memory import memory_notes
from netdsl.net.graph import Phase, connect, resolve
from netdsl.net.module import NetModule
from tests.differences.shown import shows


def layer(kind: str, bottom: str, top: str, settings: str = "") -> str:
    return f'layer {{ name: "{kind.lower()}" type: "{kind}" bottom: "{bottom}" top: "{top}" {settings} }} '


def in_place(kind: str, settings: str = "") -> str:
    return layer(kind, "x", "x", settings)


ONE = 'layer { name: "one" type: "Input" top: "one" input_param { shape { dim: 1 dim: 1 } } } '
TOTAL = layer("Reduction", "x", "loss", "loss_weight: 1")


def times(weight: float) -> str:
    """Return a layer whose top x is its weight."""
    filler = f'weight_filler {{ type: "constant" value: {weight} }}'
    return layer("InnerProduct", "one", "x", f"inner_product_param {{ num_output: 1 bias_term: false {filler} }}")


def module(text: str, *, as_caffe: bool = False) -> NetModule:
    graph = resolve(from_text(ONE + text, pb.NetParameter), Phase.TRAIN)
    return NetModule(build(graph), caffe_gradients=as_caffe).allocate()


def gradients(text: str) -> tuple[float, float]:
    """Return the gradients of the weight here and in Caffe."""
    found = []
    for as_caffe in (False, True):
        net = module(text, as_caffe=as_caffe)
        net.loss(net.run(net.edges_of(torch.ones(1, 1)))).backward()
        found.append(net.layers["innerproduct"].weight.grad.item())
    return found[0], found[1]


@shows("`Clip`, `BNLL` or `SeLu` in place")
def test_a_clipped_value_passes_a_gradient_in_caffe() -> None:
    assert gradients(times(2) + in_place("Clip", "clip_param { min: -1 max: 1 }") + TOTAL) == (0, 1)


@shows("An in-place layer after `Sigmoid`, `TanH`, `Exp`, `Softmax`, `ELU`, `Swish`, `LRN` or `MVN`")
def test_in_caffe_sigmoids_backward_pass_reads_another_layers_top() -> None:
    sigmoid = torch.tensor(0.5).sigmoid().item()
    tanh = torch.tensor(sigmoid).tanh().item()
    found = gradients(times(0.5) + in_place("Sigmoid") + in_place("TanH") + TOTAL)
    assert found == pytest.approx(((1 - tanh**2) * sigmoid * (1 - sigmoid), (1 - tanh**2) * tanh * (1 - tanh)))


@shows("`BatchNorm`, `Scale` or `Bias` in place after `ReLU`")
def test_in_caffe_relus_backward_pass_reads_the_sign_of_the_next_layers_top() -> None:
    bias = "bias_param { filler { value: -3 } }"
    assert gradients(times(2) + in_place("ReLU") + in_place("Bias", bias) + TOTAL) == (1, 0)


@shows("`Log`, `Power` or `MVN` in place")
def test_in_caffe_an_in_place_power_passes_no_gradient() -> None:
    halves = times(2) + in_place("Power", "power_param { scale: 0.5 }")
    assert gradients(halves + TOTAL) == (0.5, 0.25)
    assert gradients(halves + TOTAL.replace("loss_weight: 1", "loss_weight: 100")) == (50, 0.25)


@shows("An in-place layer on the top of `Flatten`, `Reshape`, `Squeeze` or `Split`, in the backward pass")
def test_in_caffe_a_sibling_of_an_in_place_layer_reads_its_top_backward() -> None:
    squares = layer("Reduction", "x", "loss", "loss_weight: 1 reduction_param { operation: SUMSQ }")
    flat = layer("Flatten", "x", "flat") + layer("Bias", "flat", "flat", "bias_param { filler { value: 3 } }")
    assert gradients(times(2) + squares + flat) == (2 * 2, 2 * (2 + 3))


@shows("An in-place layer on the top of `Flatten`, `Reshape`, `Squeeze` or `Split`, in the forward pass")
def test_a_layer_reads_its_own_bottom_and_is_named_where_caffe_differs() -> None:
    net = module(times(-2) + layer("Flatten", "x", "flat") + layer("ReLU", "flat", "flat") + TOTAL)
    assert net(torch.ones(1, 1))["loss"].item() == -2  # Caffe has 0
    assert memory_notes(net.built)[-1].startswith("layer 'reduction': Caffe finds other values")


@shows("A blob that one layer reads and a later one changes in place")
def test_caffe_refuses_a_blob_that_changes_after_a_layer_read_it() -> None:
    text = times(-2) + TOTAL + in_place("ReLU")
    assert module(text)(torch.ones(1, 1))["loss"].item() == -2
    with pytest.raises(GraphError, match="top 'x' is also a top of layer 'innerproduct'"):
        connect(insert_splits(from_text(ONE + text, pb.NetParameter)))
