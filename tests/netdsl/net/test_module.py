"""The module's own rules: its inputs, which memory is overwritten, and which layers are computed."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.errors import NetError
from netdsl.layer import Layer
from netdsl.net.build import build
from netdsl.net.graph import Phase, resolve
from netdsl.net.module import NetModule

DATA = 'layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 dim: 5 dim: 4 } } } '
CONV = (
    'layer { name: "conv" type: "Convolution" bottom: "data" top: "conv" '
    'convolution_param { num_output: 6 kernel_size: 2 weight_filler { type: "xavier" } } } '
)
POOL = "pooling_param { kernel_size: 2 stride: 2 }"


def layer(kind: str, bottom: str, top: str, settings: str = "", name: str = "") -> str:
    bottoms = " ".join(f'bottom: "{each}"' for each in bottom.split())
    return f'layer {{ name: "{name or kind.lower()}" type: "{kind}" {bottoms} top: "{top}" {settings} }} '


def module(text: str, phase: Phase = Phase.TEST) -> NetModule:
    return NetModule(build(resolve(from_text(text, pb.NetParameter), phase))).allocate()


def overwritten(net: NetModule, name: str, x: Tensor, method: str = "forward") -> tuple[list[bool], dict[str, Tensor]]:
    """Return which bottoms a layer's method overwrites with its top, and the net's outputs."""
    layer, found = net.layers[name], []
    run = getattr(layer, method)

    def look(*arguments: Any) -> Tensor:
        places = [bottom.data_ptr() for bottom in arguments if isinstance(bottom, Tensor)]
        top: Tensor = run(*arguments)
        found.extend(place == top.data_ptr() for place in places)
        return top

    setattr(layer, method, look)  # a hook would keep the layer from writing in place
    outputs = net(x)
    delattr(layer, method)
    return found, outputs


def in_place(net: NetModule, x: Tensor) -> bool:
    """Return whether the ReLU writes its top over its bottom."""
    return overwritten(net, "relu", x)[0] == [True]


@pytest.mark.parametrize("settings", ["", "relu_param { negative_slope: 0.1 }"])
@pytest.mark.parametrize("learning", [False, True])
def test_a_relu_overwrites_a_bottom_without_other_readers(settings: str, learning: bool) -> None:
    net = module(DATA + CONV + layer("ReLU", "conv", "relu", settings))
    with torch.set_grad_enabled(learning):
        assert in_place(net, torch.randn(2, 3, 5, 4))


@pytest.mark.parametrize(
    "text",
    [
        layer("ReLU", "data", "relu"),  # the bottom belongs to the caller
        CONV + layer("ReLU", "conv", "relu") + layer("Sigmoid", "conv", "other"),  # another layer reads the bottom
        CONV + layer("ReLU", "conv", "relu") + layer("Eltwise", "conv relu", "sum"),  # a later layer reads the bottom
        layer("Reshape", "data", "view", "reshape_param { shape { dim: 0 dim: -1 } }") + layer("ReLU", "view", "relu"),
        layer("Dropout", "data", "same") + layer("ReLU", "same", "relu"),
        layer("Split", "data", "same") + layer("ReLU", "same", "relu"),
        # the bottom is a loss
        CONV.replace("convolution_param", "loss_weight: 1 convolution_param") + layer("ReLU", "conv", "relu"),
        layer("Parameter", "", "p", "parameter_param { shape { dim: 3 dim: 4 } }") + layer("ReLU", "p", "relu"),
    ],
)
def test_a_relu_keeps_a_bottom_that_others_need(text: str) -> None:
    net, x = module(DATA + text), torch.randn(2, 3, 5, 4)
    before = x.clone(), {name: value.clone() for name, value in net.state_dict().items()}
    with torch.no_grad():
        assert not in_place(net, x)
    assert torch.equal(x, before[0])
    assert all(torch.equal(value, before[1][name]) for name, value in net.state_dict().items())


SECOND = CONV.replace('name: "conv"', 'name: "second"').replace('top: "conv"', 'top: "second"')


def eltwise(bottoms: str, settings: str = "") -> str:
    return layer("Eltwise", bottoms, "sum", f"eltwise_param {{ {settings} }}", "sum")


def summed(net: NetModule, x: Tensor) -> tuple[list[bool], list[Tensor]]:
    """Return which bottoms the sum overwrites with its top, and the net's output and gradients."""
    places, outputs = overwritten(net, "sum", x)
    output = outputs["sum"]
    net.zero_grad()
    (output * torch.arange(output.numel()).view_as(output)).sum().backward()
    return places, [output.detach().clone(), *(blob.grad for blob in net.parameters())]


@pytest.mark.parametrize(
    ("text", "written_over"),
    [
        (CONV + SECOND + eltwise("conv second"), [True, False]),
        # The blobs of a block with a shortcut, which a ReLU needs for its gradient.
        (CONV + layer("ReLU", "conv", "relu") + SECOND + eltwise("relu second"), [False, True]),
        (CONV + SECOND + eltwise("conv second", "coeff: 1 coeff: -1"), [False] * 2),
        (CONV + eltwise("conv conv"), [False] * 2),
        (CONV + SECOND + eltwise("conv second", "operation: MAX"), [False] * 2),
        (CONV + SECOND + eltwise("conv second conv"), [False] * 3),
    ],
    ids=["two convolutions", "shortcut", "difference", "twice the same", "maximum", "three"],
)
def test_a_sum_overwrites_a_bottom_without_other_readers(text: str, written_over: list[bool]) -> None:
    net, x = module(DATA + text), torch.randn(2, 3, 5, 4)
    found, numbers = summed(net, x)
    assert found == written_over
    net.layers["sum"].may_overwrite = ()
    found, expected = summed(net, x)
    assert not any(found)
    assert all(map(torch.equal, numbers, expected))


NORMALIZED = CONV + layer("BatchNorm", "conv", "norm", "", "norm") + layer("Scale", "norm", "scale", "", "scale")


@pytest.mark.parametrize(
    ("text", "writes_over"),
    [
        (NORMALIZED, True),
        (NORMALIZED + layer("ReLU", "conv", "relu"), False),
        (NORMALIZED.replace("convolution_param", "loss_weight: 1 convolution_param"), False),
    ],
    ids=["only it", "another reader", "a loss"],
)
def test_in_a_test_a_normalization_overwrites_a_bottom_without_other_readers(text: str, writes_over: bool) -> None:
    net, x = module(DATA + text), torch.randn(2, 3, 5, 4)
    with torch.no_grad():
        found, outputs = overwritten(net, "norm", x, "forward_merged")
    assert found == [writes_over]
    found, learning = overwritten(net, "norm", x, "forward_merged")
    assert found == [False]
    torch.testing.assert_close(learning["scale"].detach(), outputs["scale"])


HOOKED = (
    DATA
    + NORMALIZED
    + layer("ReLU", "scale", "relu")
    + SECOND.replace('"data"', '"relu"')
    + layer("Convolution", "relu", "third", "convolution_param { num_output: 6 kernel_size: 2 }")
    + eltwise("second third")
)


@pytest.mark.parametrize("names", [["conv"], ["norm"], ["scale"], ["conv", "norm", "scale", "relu", "second", "sum"]])
@pytest.mark.parametrize("learning", [False, True])
def test_tensors_that_hooks_received_are_not_overwritten(names: list[str], learning: bool) -> None:
    net, x = module(HOOKED), torch.randn(2, 3, 5, 4)
    with torch.no_grad():
        expected = net(x)["sum"]
    seen: dict[str, list[Tensor]] = {}

    def keep(made: Layer, bottoms: tuple[Tensor, ...], top: Tensor) -> None:
        seen[made.layer.name] = [*bottoms, top, *(each.clone() for each in (*bottoms, top))]

    for name in names:
        net.layers[name].register_forward_hook(keep)
    with torch.set_grad_enabled(learning):
        found = net(x)["sum"]
    assert list(seen) == names
    for tensors in seen.values():
        half = len(tensors) // 2
        assert all(map(torch.equal, tensors[:half], tensors[half:]))
    torch.testing.assert_close(found.detach(), expected)


def test_hooks_see_the_gradients_of_every_layer() -> None:
    net = module(HOOKED)
    seen: dict[str, Tensor] = {}
    for name in ("conv", "norm", "scale", "relu", "second", "sum"):
        net.layers[name].register_full_backward_hook(
            lambda made, inner, outer: seen.__setitem__(made.layer.name, outer[0])
        )
    net(torch.randn(2, 3, 5, 4, requires_grad=True))["sum"].sum().backward()
    assert list(seen) == ["sum", "second", "relu", "scale", "norm", "conv"]


def test_two_relus_in_a_row_learn_although_the_first_ones_top_is_needed_backward() -> None:
    text = CONV + layer("ReLU", "conv", "conv", "relu_param { negative_slope: 0.5 }", "first")
    net = module(DATA + text + layer("ReLU", "conv", "conv", "relu_param { negative_slope: 0.5 }", "second"))
    x = torch.randn(2, 3, 5, 4)
    net(x)["conv"].sum().backward()
    found = net.layers["conv"].bias.grad
    y = torch.nn.functional.conv2d(x, net.layers["conv"].weight, net.layers["conv"].bias)
    torch.testing.assert_close(found, torch.where(y > 0, 1.0, 0.25).sum((0, 2, 3)))  # sums in another order


def test_a_relu_with_a_negative_slope_below_zero_learns() -> None:
    net = module(DATA + CONV + layer("ReLU", "conv", "conv", "relu_param { negative_slope: -0.5 }"))
    x = torch.randn(2, 3, 5, 4)
    net(x)["conv"].sum().backward()
    y = torch.nn.functional.conv2d(x, net.layers["conv"].weight, net.layers["conv"].bias)
    torch.testing.assert_close(net.layers["conv"].bias.grad, torch.where(y > 0, 1.0, -0.5).sum((0, 2, 3)))


CLASSIFIER = (
    DATA
    + layer("Input", "", "label", "input_param { shape { dim: 2 } }", "label")
    + CONV
    + layer("ReLU", "conv", "conv")
    + layer("InnerProduct", "conv", "ip", "inner_product_param { num_output: 7 weight_filler { type: 'xavier' } }")
    + layer("SoftmaxWithLoss", "ip label", "loss")
)


def backward_names(root: Any) -> set[str]:
    names, rest = set(), [root]
    while rest:
        node = rest.pop()
        if node is not None:
            names.add(node.name())
            rest += [parent for parent, _ in node.next_functions]
    return names


def test_a_data_blob_gets_a_gradient_only_on_request() -> None:
    net, x = module(CLASSIFIER), torch.randn(2, 3, 5, 4)
    convolutions = []
    net.layers["conv"].register_forward_hook(lambda _, bottoms, top: convolutions.append(top.grad_fn))
    net(x, torch.zeros(2))
    assert convolutions[0].next_functions[0][0] is None
    x.requires_grad_()
    net(x, torch.zeros(2))["loss"].backward()
    assert x.grad is not None


def test_no_gradients_are_computed_below_frozen_params() -> None:
    frozen = CONV.replace("convolution_param", "param { lr_mult: 0 } param { lr_mult: 0 } convolution_param")
    net = module(CLASSIFIER.replace(CONV, frozen))
    loss = net(torch.randn(2, 3, 5, 4), torch.zeros(2))["loss"]
    assert not {name for name in backward_names(loss.grad_fn) if "Convolution" in name or "Relu" in name}
    loss.backward()
    assert net.layers["conv"].weight.grad is None
    assert net.layers["innerproduct"].weight.grad is not None


def test_propagate_down_false_stops_the_gradient_there() -> None:
    net = module(CLASSIFIER.replace('type: "InnerProduct"', 'type: "InnerProduct" propagate_down: false'))
    net(torch.randn(2, 3, 5, 4), torch.zeros(2))["loss"].backward()
    assert net.layers["conv"].weight.grad is None
    assert net.layers["innerproduct"].weight.grad is not None


def test_inputs_are_passed_by_position_or_name_and_missing_ones_are_named() -> None:
    net, x, label = module(CLASSIFIER), torch.randn(2, 3, 5, 4), torch.ones(2)
    assert net(x, label)["loss"] == net(label=label, data=x)["loss"] == net(x, label=label)["loss"]
    for wrong in ({}, {"data": x}, {"data": x, "label": label, "more": x}):
        with pytest.raises(NetError, match="data, label"):
            net(**wrong)


def test_batches_and_images_of_other_sizes_are_accepted() -> None:
    net = module(DATA + CONV + layer("ReLU", "conv", "conv") + layer("Pooling", "conv", "pool", POOL))
    for shape in ((2, 3, 5, 4), (7, 3, 5, 4), (1, 3, 11, 9)):
        x = torch.randn(shape)
        found = net(x)["pool"]
        y = torch.nn.functional.conv2d(x, net.layers["conv"].weight, net.layers["conv"].bias).relu()
        torch.testing.assert_close(found, torch.nn.functional.max_pool2d(y, 2, 2, ceil_mode=True))
