"""torch's operators as Caffe's layers: each net computes the same for a batch that it wasn't traced with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from converters.torch_import import from_torch
from netdsl.model.model import Model
from netdsl.net.graph import Phase
from tests.converters.nets import layer_types


class FunctionModule(nn.Module):
    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> object:
        return self.function(*inputs)


def same(function: Callable[..., object], *shapes: tuple[int, ...], positive: bool = False) -> Model:
    """Convert a module, and check that other values and a batch with one more item give the same results. Returns the
    net."""
    torch.manual_seed(7)
    module = (function if isinstance(function, nn.Module) else FunctionModule(function)).eval()

    def inputs(more: int) -> list[Tensor]:
        made = [torch.randn(shape[0] + more, *shape[1:]) for shape in shapes]
        return [each.abs() + 0.1 for each in made] if positive else made

    model = from_torch(module, inputs(0), verify=not positive)
    net = model.module(Phase.TEST)
    given = inputs(1)
    with torch.no_grad():
        wanted, found = module(*given), list(net(*given).values())
    for one, other in zip(found, wanted if isinstance(wanted, tuple) else [wanted], strict=True):
        assert one.shape == other.shape
        assert (one - other).abs().max() <= 1e-5 * np.ptp(other.numpy())  # sums in another order
    return model


@pytest.mark.parametrize(
    ("function", "layers"),
    [
        (F.relu, ["ReLU"]),
        (F.relu6, ["Clip"]),
        (lambda x: F.leaky_relu(x, 0.2), ["ReLU"]),
        (F.elu, ["ELU"]),
        (F.selu, ["ELU", "Power"]),
        (F.silu, ["Sigmoid", "Eltwise"]),
        (F.mish, ["BNLL", "TanH", "Eltwise"]),
        (F.hardswish, ["Power", "Clip", "Eltwise"]),
        (F.hardsigmoid, ["Power", "Clip"]),
        (F.hardtanh, ["Clip"]),
        (F.softplus, ["BNLL"]),
        (torch.sigmoid, ["Sigmoid"]),
        (torch.tanh, ["TanH"]),
        (torch.abs, ["AbsVal"]),
        (torch.exp, ["Exp"]),
        (lambda x: x.softmax(-1), ["Softmax"]),
        (lambda x: x.log_softmax(1), ["Softmax", "Log"]),
        (lambda x: x.clamp(-0.5, 0.7), ["Clip"]),
        (lambda x: x.clamp(min=0), ["ReLU"]),
        (nn.PReLU(4), ["PReLU"]),
        (nn.BatchNorm2d(4), ["BatchNorm", "Scale"]),
        (nn.BatchNorm2d(4, affine=False), ["BatchNorm"]),
        (nn.Dropout2d(0.3), ["Dropout"]),
        (nn.Identity(), ["Split"]),
    ],
)
def test_activations_are_imported(function, layers) -> None:
    assert layer_types(same(function, (2, 4, 5, 3))) == layers


@pytest.mark.parametrize(
    "function", [torch.log, torch.sqrt, torch.rsqrt, lambda x: x**1.7, lambda x: 1 / x, torch.square]
)
def test_functions_of_positive_values_are_imported(function) -> None:
    same(function, (2, 4, 5), positive=True)


@pytest.mark.parametrize(
    ("function", "layers"),
    [
        (nn.Conv2d(4, 6, (3, 5), stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2), ["Convolution"]),
        (nn.Conv2d(4, 6, (3, 5), padding="same"), ["Convolution"]),
        (nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2), ["Deconvolution"]),
        (nn.MaxPool2d(3, 2, 1), ["Pooling"]),
        (nn.MaxPool2d(3, 2, ceil_mode=True), ["Pooling"]),
        (nn.MaxPool2d(3, 3, 1, ceil_mode=True), ["Pooling"]),
        (nn.AvgPool2d(3, 2, 1), ["Pooling"]),
        (nn.AvgPool2d(3, 2, 1, count_include_pad=False), ["Pooling", "Scale"]),
        (nn.AvgPool2d(2, divisor_override=3), ["Pooling", "Scale"]),
        (nn.AdaptiveAvgPool2d(1), ["Pooling"]),
        (nn.AdaptiveAvgPool2d((4, 3)), ["Pooling"]),
        (nn.AdaptiveAvgPool2d((16, 12)), ["Deconvolution"]),
        (nn.AdaptiveMaxPool2d((4, 2)), ["Pooling"]),
        (nn.ZeroPad2d((1, 0, 2, 3)), ["Convolution"]),
        (nn.Linear(6, 5), ["InnerProduct"]),
        (nn.Upsample(scale_factor=2), ["Deconvolution"]),
        (nn.Upsample(size=(12, 9)), ["ResizeNearestNeighbor"]),
        (nn.Upsample(size=(12, 9), mode="nearest-exact"), ["ResizeNearestNeighbor"]),
        (nn.Upsample(size=(11, 9), mode="bilinear"), ["ResizeBilinear"]),
        (nn.UpsamplingBilinear2d(scale_factor=2), ["Interp"]),
    ],
)
def test_windows_and_sizes_are_imported(function, layers) -> None:
    assert layer_types(same(function, (2, 4, 8, 6))) == layers


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.flatten(2),
        lambda x: x.reshape(-1, 5, 3),
        lambda x: x.view(x.size(0), 2, -1, 3),
        lambda x: x.unsqueeze(2).expand(-1, -1, 3, -1, -1),
        lambda x: x.mean(1, keepdim=True).squeeze(1),
        lambda x: x.permute(0, 2, 3, 1).transpose(1, 2),
        lambda x: torch.cat([x[:, 1:3], x[:, -1:]], 1),
        lambda x: x[:, 2] + x[:, 0],
        lambda x: torch.stack(x.split([1, 2, 1], 1)[::2], 1),
        lambda x: F.pixel_shuffle(x, 2),
        lambda x: F.pixel_unshuffle(x[:, :, :4, :2], 2),
        lambda x: x.repeat(1, 2, 1, 3),
        lambda x: x.unflatten(1, (2, 2)).mean((2, 3)),
        lambda x: x.sum((1, 2, 3)),
        lambda x: x.amax((2, 3)),
        lambda x: x.argmax(1),
    ],
)
def test_operators_that_move_and_reduce_values_are_imported(function) -> None:
    same(function, (2, 4, 5, 3))


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: torch.add(a, b, alpha=3),
        lambda a, b: torch.sub(a, torch.arange(3.0), alpha=2) + b,
        lambda a, b: 2 - a * b / 3 - b,
        lambda a, b: torch.maximum(a, b) + torch.minimum(a, b) * 2,
        lambda a, b: a / (b.abs() + 1),
        lambda a, b: a * b.mean((2, 3), keepdim=True) + b.mean((2, 3), keepdim=True),
        lambda a, b: a * torch.arange(1.0, 5.0)[:, None, None] - b,
        lambda a, b: (a.tanh(), b + a.tanh()),
    ],
)
def test_arithmetic_with_several_inputs_and_outputs_is_imported(function) -> None:
    same(function, (2, 4, 5, 3), (2, 4, 5, 3))


@pytest.mark.filterwarnings("ignore:Using padding='same'")
def test_asymmetric_padding_is_imported() -> None:
    assert layer_types(same(nn.Conv2d(4, 6, (2, 4), padding="same"), (2, 4, 8, 6))) == ["Convolution"]


def test_an_input_may_also_be_an_output() -> None:
    model = from_torch(FunctionModule(lambda a, b: (a, b.relu())), [torch.randn(2, 3), torch.randn(2, 5)])
    net = model.module(Phase.TEST)
    assert set(net.outputs) == {"inputs_0/output", "relu"}


def test_results_in_a_dict_and_unread_inputs_are_supported() -> None:
    model = from_torch(
        FunctionModule(lambda a, b: {"z": b.relu(), "y": [b.tanh()]}), [torch.randn(2, 3), torch.randn(2, 5)]
    )
    net = model.module(Phase.TEST)
    assert list(net.inputs) == ["inputs_0", "inputs_1"]
    assert set(net.outputs) == {"relu", "tanh"}


def test_in_place_changes_are_visible_to_later_readers() -> None:
    def function(x: Tensor) -> Tensor:
        y = x.tanh()
        z = F.relu_(y)
        z += 1
        return y * 2 + z

    same(function, (2, 4))
