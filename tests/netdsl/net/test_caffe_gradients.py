"""Gradients compared with a small Caffe in numpy, whose in-place layers really overwrite their bottoms and
gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.allowed_modules import PYTHON_LAYERS
from netdsl.net.build import build
from netdsl.net.caffe_memory import memory_notes
from netdsl.net.graph import Phase, resolve
from netdsl.net.module import NetModule

Array = Any
Blob = SimpleNamespace  # data and diff, which in-place layers share
Rule = Callable[[Blob, Blob, dict[str, Any]], None]  # receives a bottom, a top and the layer's private memory

NEVER_NEGATIVE = {"Exp", "LeakyReLU", "ReLU", "Sigmoid", "Softmax"}
SECOND = ("ELU", "FlippedReLU", "LeakyReLU", "Line", "MVN", "PReLU", "ReLU", "TanH")
RECTIFIERS = {"ELU", "FlippedReLU", "LeakyReLU", "PReLU", "ReLU"}
ITEMS, INPUTS, WIDTH, OUTPUTS = 4, 3, 6, 2
DATA = f'layer {{ name: "data" type: "Input" top: "data" input_param {{ shape {{ dim: {ITEMS} dim: {INPUTS} }} }} }} '
SUM_OF_SQUARES = (
    'layer { name: "loss" type: "Reduction" bottom: "out" top: "loss" loss_weight: 1 '
    "reduction_param { operation: SUMSQ } }"
)


def inner_product(name: str, bottom: str, outputs: int) -> str:
    settings = f'inner_product_param {{ num_output: {outputs} weight_filler {{ type: "gaussian" std: 0.7 }} }}'
    return f'layer {{ name: "{name}" type: "InnerProduct" bottom: "{bottom}" top: "{name}" {settings} }} '


def layer(name: str, kind: str, bottom: str, top: str) -> str:
    return f'layer {{ name: "{name}" type: "{kind}" bottom: "{bottom}" top: "{top}" {SETTINGS.get(kind, "")} }} '


SETTINGS = {
    "Clip": "clip_param { min: -0.5 max: 0.625 }",
    "ELU": "elu_param { alpha: 0.75 }",
    "Exp": "exp_param { base: 2 scale: 0.5 shift: 0.125 }",
    "Log": "log_param { base: 3 scale: 0.5 shift: 9 }",
    "Power": "power_param { power: 3 scale: 0.5 shift: 4 }",
    "Square": "power_param { power: 2 scale: 0.5 shift: 0.25 }",
    "Line": "power_param { scale: 0.5 shift: 0.25 }",
    "LeakyReLU": "relu_param { negative_slope: 0.125 }",
    "FlippedReLU": "relu_param { negative_slope: -0.125 }",
    "MVN": "mvn_param { across_channels: true }",
    "Swish": "swish_param { beta: 0.75 }",
}
TYPES = {"Square": "Power", "Line": "Power", "LeakyReLU": "ReLU", "FlippedReLU": "ReLU"}


# Each rule follows Caffe's code step by step, with the same reads and writes.


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def forward_sigmoid(bottom: Blob, top: Blob, own: dict[str, Any]) -> None:
    top.data[:] = sigmoid(bottom.data)


def backward_sigmoid(bottom: Blob, top: Blob, own: dict[str, Any]) -> None:
    bottom.diff[:] = top.diff * top.data * (1 - top.data)


def forward_tanh(bottom: Blob, top: Blob, own: dict[str, Any]) -> None:
    top.data[:] = np.tanh(bottom.data)


def backward_tanh(bottom: Blob, top: Blob, own: dict[str, Any]) -> None:
    bottom.diff[:] = top.diff * (1 - top.data**2)


def forward_exp(bottom: Blob, top: Blob, own: dict[str, Any]) -> None:
    top.data[:] = 2 ** (0.125 + 0.5 * bottom.data)


def backward_exp(bottom: Blob, top: Blob, own: dict[str, Any]) -> None:
    np.multiply(top.data, top.diff, out=bottom.diff)
    bottom.diff *= 0.5 * np.log(2)


def forward_softmax(bottom: Blob, top: Blob, own: dict[str, Any]) -> None:
    powers = np.exp(bottom.data)
    top.data[:] = powers / powers.sum(1, keepdims=True)


def backward_softmax(bottom: Blob, top: Blob, own: dict[str, Any]) -> None:
    bottom.diff[:] = top.diff
    bottom.diff -= (bottom.diff * top.data).sum(1, keepdims=True)
    bottom.diff *= top.data


def forward_elu(bottom: Blob, top: Blob, own: dict[str, Any]) -> None:
    top.data[:] = np.maximum(bottom.data, 0) + 0.75 * (np.exp(np.minimum(bottom.data, 0)) - 1)


def backward_elu(bottom: Blob, top: Blob, own: dict[str, Any]) -> None:
    bottom.diff[:] = top.diff * ((bottom.data > 0) + (0.75 + top.data) * (bottom.data <= 0))


def forward_relu(bottom: Blob, top: Blob, own: dict[str, Any], slope: float = 0) -> None:
    top.data[:] = np.maximum(bottom.data, 0) + slope * np.minimum(bottom.data, 0)


def backward_relu(bottom: Blob, top: Blob, own: dict[str, Any], slope: float = 0) -> None:
    bottom.diff[:] = top.diff * ((bottom.data > 0) + slope * (bottom.data <= 0))


def leaking(rule: Callable[..., None], slope: float) -> Rule:
    return lambda bottom, top, own: rule(bottom, top, own, slope)


def forward_clip(bottom: Blob, top: Blob, own: dict[str, Any]) -> None:
    top.data[:] = np.clip(bottom.data, -0.5, 0.625)


def backward_clip(bottom: Blob, top: Blob, own: dict[str, Any]) -> None:
    bottom.diff[:] = top.diff * ((bottom.data >= -0.5) & (bottom.data <= 0.625))


def forward_bnll(bottom: Blob, top: Blob, own: dict[str, Any]) -> None:
    top.data[:] = np.log1p(np.exp(bottom.data))


def backward_bnll(bottom: Blob, top: Blob, own: dict[str, Any]) -> None:
    power = np.exp(np.minimum(bottom.data, 50))
    bottom.diff[:] = top.diff * power / (power + 1)


def forward_log(bottom: Blob, top: Blob, own: dict[str, Any]) -> None:
    top.data[:] = np.log(9 + 0.5 * bottom.data) / np.log(3)


def backward_log(bottom: Blob, top: Blob, own: dict[str, Any]) -> None:
    bottom.diff[:] = bottom.data
    bottom.diff *= 0.5
    bottom.diff += 9
    bottom.diff **= -1
    bottom.diff *= 0.5 / np.log(3)
    np.multiply(top.diff, bottom.diff, out=bottom.diff)


def forward_power(bottom: Blob, top: Blob, own: dict[str, Any]) -> None:
    top.data[:] = (4 + 0.5 * bottom.data) ** 3


def backward_power(bottom: Blob, top: Blob, own: dict[str, Any]) -> None:
    bottom.diff[:] = bottom.data
    bottom.diff *= 0.5
    bottom.diff += 4
    np.divide(top.data, bottom.diff, out=bottom.diff)
    bottom.diff *= 3 * 0.5
    np.multiply(top.diff, bottom.diff, out=bottom.diff)


def forward_square(bottom: Blob, top: Blob, own: dict[str, Any]) -> None:
    top.data[:] = (0.25 + 0.5 * bottom.data) ** 2


def backward_square(bottom: Blob, top: Blob, own: dict[str, Any]) -> None:
    bottom.diff[:] = 2 * 0.5 * 0.5 * bottom.data
    bottom.diff += 2 * 0.5 * 0.25
    np.multiply(top.diff, bottom.diff, out=bottom.diff)


def forward_line(bottom: Blob, top: Blob, own: dict[str, Any]) -> None:
    top.data[:] = 0.25 + 0.5 * bottom.data


def backward_line(bottom: Blob, top: Blob, own: dict[str, Any]) -> None:
    bottom.diff[:] = 0.5
    np.multiply(top.diff, bottom.diff, out=bottom.diff)


def forward_swish(bottom: Blob, top: Blob, own: dict[str, Any]) -> None:
    own["sigmoid"] = sigmoid(0.75 * bottom.data)
    top.data[:] = bottom.data * own["sigmoid"]


def backward_swish(bottom: Blob, top: Blob, own: dict[str, Any]) -> None:
    bottom.diff[:] = top.diff * (0.75 * top.data + own["sigmoid"] * (1 - 0.75 * top.data))


def forward_mvn(bottom: Blob, top: Blob, own: dict[str, Any]) -> None:
    top.data[:] = bottom.data - bottom.data.mean(1, keepdims=True)
    own["deviation"] = np.sqrt((top.data**2).mean(1, keepdims=True)) + 1e-9
    top.data /= own["deviation"]


def backward_mvn(bottom: Blob, top: Blob, own: dict[str, Any]) -> None:
    np.multiply(top.data, top.diff, out=bottom.diff)
    bottom.diff[:] = bottom.diff.sum(1, keepdims=True)
    np.multiply(top.data, bottom.diff, out=bottom.diff)
    bottom.diff += top.diff.sum(1, keepdims=True)
    bottom.diff[:] = top.diff - bottom.diff / WIDTH
    bottom.diff /= own["deviation"]


def forward_prelu(bottom: Blob, top: Blob, own: dict[str, Any]) -> None:
    own["bottom"] = bottom.data.copy()
    top.data[:] = np.where(bottom.data > 0, bottom.data, 0.25 * bottom.data)


def backward_prelu(bottom: Blob, top: Blob, own: dict[str, Any]) -> None:
    bottom.diff[:] = top.diff * np.where(own["bottom"] > 0, 1, 0.25)


RULES: dict[str, tuple[Rule, Rule]] = {
    "BNLL": (forward_bnll, backward_bnll),
    "Clip": (forward_clip, backward_clip),
    "ELU": (forward_elu, backward_elu),
    "Exp": (forward_exp, backward_exp),
    "FlippedReLU": (leaking(forward_relu, -0.125), leaking(backward_relu, -0.125)),
    "LeakyReLU": (leaking(forward_relu, 0.125), leaking(backward_relu, 0.125)),
    "Line": (forward_line, backward_line),
    "Log": (forward_log, backward_log),
    "MVN": (forward_mvn, backward_mvn),
    "PReLU": (forward_prelu, backward_prelu),
    "Power": (forward_power, backward_power),
    "ReLU": (forward_relu, backward_relu),
    "Sigmoid": (forward_sigmoid, backward_sigmoid),
    "Softmax": (forward_softmax, backward_softmax),
    "Square": (forward_square, backward_square),
    "Swish": (forward_swish, backward_swish),
    "TanH": (forward_tanh, backward_tanh),
}


def caffe_gradients(weights: Sequence[Array], data: Array, kinds: Sequence[str]) -> list[Array]:
    """Return the gradients of two InnerProducts with in-place layers between them, for the sum of squares of the last
    tops."""
    first, first_bias, last, last_bias = weights
    blob = Blob(data=data @ first.T + first_bias, diff=np.zeros((len(data), len(first))))
    own: list[dict[str, Any]] = [{} for _ in kinds]
    for kind, kept in zip(kinds, own, strict=True):
        RULES[kind][0](blob, blob, kept)
    gradient = 2 * (blob.data @ last.T + last_bias)
    found = [gradient.T @ blob.data, gradient.sum(0)]
    blob.diff[:] = gradient @ last
    for kind, kept in zip(reversed(kinds), reversed(own), strict=True):
        RULES[kind][1](blob, blob, kept)
    return [blob.diff.T @ data, blob.diff.sum(0), *found]


def module(text: str, *, as_caffe: bool) -> NetModule:
    torch.manual_seed(3)
    graph = resolve(from_text(text, pb.NetParameter), Phase.TRAIN)
    made = NetModule(build(graph), caffe_gradients=as_caffe).allocate()
    return made.double()


def chain(kinds: Sequence[str]) -> str:
    between = "".join(
        layer(f"{kind.lower()}{place}", kind, "hidden", "hidden").replace(
            f'type: "{kind}"', f'type: "{TYPES.get(kind, kind)}"'
        )
        for place, kind in enumerate(kinds)
    )
    return (
        DATA
        + inner_product("hidden", "data", WIDTH)
        + between
        + inner_product("out", "hidden", OUTPUTS)
        + SUM_OF_SQUARES
    )


def gradients(net: NetModule, data: torch.Tensor) -> list[Array]:
    net.loss(net.run(net.edges_of(data))).backward()
    layers = (net.layers["hidden"], net.layers["out"])
    return [blob.grad.numpy() for made in layers for blob in (made.weight, made.bias)]


def differ(first: Sequence[Array], second: Sequence[Array]) -> bool:
    return any(not np.allclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("kinds", [(), *((kind,) for kind in RULES), *product(RULES, SECOND)])
def test_in_place_layers_have_caffes_gradients_on_request_and_true_ones_by_default(kinds: tuple[str, ...]) -> None:
    data = torch.randn(ITEMS, INPUTS, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    true_net, net = module(chain(kinds), as_caffe=False), module(chain(kinds), as_caffe=True)
    weights = [blob.detach().numpy() for made in ("hidden", "out") for blob in net.layers[made].parameters()]
    with np.errstate(all="ignore"):
        expected = caffe_gradients(weights, data.numpy(), kinds)
    assert not differ(gradients(net, data), expected)
    differs = differ(gradients(true_net, data), expected)
    # leaving out the second layer would change nothing
    if set(kinds[:1]) & NEVER_NEGATIVE and set(kinds[1:]) & RECTIFIERS:
        assert memory_notes(true_net.built) or not differs
    else:
        assert bool(memory_notes(true_net.built)) == differs


def input_layer(*shape: int) -> str:
    dims = " ".join(f"dim: {size}" for size in shape)
    return f'layer {{ name: "data" type: "Input" top: "data" input_param {{ shape {{ {dims} }} }} }} '


READ_BESIDE = (
    DATA
    + inner_product("hidden", "data", WIDTH)
    + inner_product("out", "hidden", OUTPUTS)
    + layer("flat", "Flatten", "hidden", "flat")
    + layer("tanh", "TanH", "flat", "flat")
    + SUM_OF_SQUARES
)


def test_a_layer_reads_in_place_changes_of_its_bottom_under_another_name() -> None:
    data = torch.randn(ITEMS, INPUTS, dtype=torch.float64)
    for as_caffe in (False, True):
        net = module(READ_BESIDE, as_caffe=as_caffe)
        edges = net.run(net.edges_of(data))
        net.loss(edges).backward()
        hidden, out = net.layers["hidden"](data), net.layers["out"]
        read = hidden.tanh() if as_caffe else hidden
        assert torch.allclose(out.weight.grad, 2 * out(hidden).T @ read)


def halved(maker: str, scale: float, value: float = 2) -> float:
    """Return the gradient of `scale`, which is multiplied by 2 before a layer whose top is then halved in place.

    In Caffe, the halving layer computes 0.5 * 0.5 for any gradient of its top.
    """
    text = (
        input_layer(1, 1, 1, 1)
        + f'layer {{ name: "x" type: "Scale" bottom: "data" top: "x" scale_param {{ filler {{ value: {scale} }} }} }} '
        + maker
        + 'layer { name: "half" type: "Power" bottom: "y" top: "y" power_param { scale: 0.5 } } '
        + 'layer { name: "loss" type: "Reduction" bottom: "y" top: "loss" loss_weight: 1 }'
    )
    net = module(text, as_caffe=True)
    net.loss(net.run(net.edges_of(torch.full((1, 1, 1, 1), value, dtype=torch.float64)))).backward()
    return net.layers["x"].weight.grad.item()


def test_lrn_reads_its_top() -> None:
    lrn = 'layer { name: "y" type: "LRN" bottom: "x" top: "y" lrn_param { local_size: 1 alpha: 1 beta: 1 } } '
    x, scale = 6, 1 + 6**2
    assert halved(lrn, 3) == pytest.approx(2 * (0.25 / scale - 2 * x * 0.25 * (x / scale / 2) / scale))


def test_a_product_without_a_stable_gradient_reads_its_top() -> None:
    product_of = (
        'layer { name: "y" type: "Eltwise" bottom: "x" bottom: "x" top: "y" eltwise_param { operation: PROD %s } } '
    )
    x, top = 6, 6**2 / 2
    assert halved(product_of % "stable_prod_grad: false", 3) == pytest.approx(2 * 2 * 0.25 * top / x)
    assert halved(product_of % "", 3) == pytest.approx(2 * 2 * 0.25 * x)


def test_normalize_reads_its_top_for_the_gradient_of_its_scale() -> None:
    data = torch.tensor([[3.0, 4.0]], dtype=torch.float64)
    text = (
        input_layer(1, 2)
        + 'layer { name: "y" type: "Normalize" bottom: "data" top: "y" norm_param { scale_filler { value: 10 } } } '
        + 'layer { name: "half" type: "Power" bottom: "y" top: "y" power_param { scale: 0.5 } } '
        + 'layer { name: "loss" type: "Reduction" bottom: "y" top: "loss" loss_weight: 1 }'
    )
    net = module(text, as_caffe=True)
    net.loss(net.run(net.edges_of(data))).backward()
    assert net.layers["y"].scale.grad.sum().item() == pytest.approx((3 + 4) * 0.25 / 10, rel=1e-6)


def test_happynears_normalize_reads_its_top_for_the_bottoms_gradient() -> None:
    data = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
    text = (
        input_layer(1, 2)
        + 'layer { name: "x" type: "Scale" bottom: "data" top: "x" '
        + "scale_param { axis: 0 num_axes: 0 filler { value: 3 } bias_term: true bias_filler { value: 0 } } } "
        + 'layer { name: "y" type: "Normalize" bottom: "x" top: "y" normalize_param { } } '
        + 'layer { name: "half" type: "Power" bottom: "y" top: "y" power_param { scale: 0.5 } } '
        + 'layer { name: "loss" type: "Reduction" bottom: "y" top: "loss" loss_weight: 1 }'
    )
    net = module(text, as_caffe=True)
    net.loss(net.run(net.edges_of(data))).backward()
    assert net.layers["x"].weight.grad.item() == pytest.approx((0.25 - 0.5 * 0.5 * 0.25) / 3, rel=1e-5)


def test_a_python_layer_reads_the_overwritten_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "squaring.py").write_text(
        "from netdsl.pycaffe.python_layer import Layer\n\n\n"
        "class Square(Layer):\n"
        "    def setup(self, bottom, top):\n"
        "        pass\n\n"
        "    def reshape(self, bottom, top):\n"
        "        top[0].reshape(*bottom[0].shape)\n\n"
        "    def forward(self, bottom, top):\n"
        "        top[0].data[...] = bottom[0].data ** 2\n\n"
        "    def backward(self, top, propagate_down, bottom):\n"
        "        bottom[0].diff[...] = top[0].diff * 2 * bottom[0].data\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    own = 'layer { name: "y" type: "Python" bottom: "x" top: "x" python_param { module: "squaring" layer: "Square" } } '
    text = (
        DATA.replace(f"dim: {ITEMS} dim: {INPUTS}", "dim: 1 dim: 1")
        + 'layer { name: "x" type: "Scale" bottom: "data" top: "x" scale_param { filler { value: 3 } } } '
        + own
        + 'layer { name: "loss" type: "Reduction" bottom: "x" top: "loss" loss_weight: 1 }'
    )
    with PYTHON_LAYERS.allowing({"squaring": ""}):
        net = module(text, as_caffe=True)
        net.loss(net.run(net.edges_of(torch.full((1, 1), 2.0, dtype=torch.float64)))).backward()
    assert net.layers["x"].weight.grad.item() == 2 * (2 * 6**2)


def test_a_relu_only_writes_in_place_where_caffes_does() -> None:
    text = (
        DATA
        + inner_product("hidden", "data", WIDTH)
        + layer("softmax", "Softmax", "hidden", "hidden")
        + 'layer { name: "scale" type: "Scale" bottom: "hidden" top: "hidden" '
        + "scale_param { filler { value: 2 } bias_term: true bias_filler { value: -0.25 } } } "
        + layer("relu", "ReLU", "hidden", "out")
        + SUM_OF_SQUARES
    )
    net, data = module(text, as_caffe=True), torch.randn(ITEMS, INPUTS, dtype=torch.float64)
    net.loss(net.run(net.edges_of(data))).backward()
    scaled = 2 * net.layers["hidden"](data).softmax(1) - 0.25
    gradient = 2 * (2 * scaled.relu())
    expected = (gradient - (gradient * scaled).sum(1, keepdim=True)) * scaled
    assert torch.allclose(net.layers["hidden"].bias.grad, expected.sum(0))


def test_half_precision_has_caffes_gradients_too() -> None:
    net = module(READ_BESIDE, as_caffe=True).float()
    data = torch.randn(ITEMS, INPUTS)
    with torch.autocast("cpu", torch.bfloat16):
        loss = net.loss(net.run(net.edges_of(data)))
    loss.backward()
    hidden, out = net.layers["hidden"](data), net.layers["out"]
    # bfloat16 has 8 bits
    assert torch.allclose(out.weight.grad, 2 * out(hidden).T @ hidden.tanh(), rtol=0.05, atol=0.05)


def test_two_passes_are_independent() -> None:
    net = module(chain(["Sigmoid", "TanH"]), as_caffe=True)
    data = torch.randn(2, ITEMS, INPUTS, dtype=torch.float64)
    first = [gradient.copy() for gradient in gradients(net, data[0])]
    net.zero_grad()
    losses = [net.loss(net.run(net.edges_of(batch))) for batch in data]
    losses[0].backward()
    assert not differ(
        first, [blob.grad.numpy() for made in ("hidden", "out") for blob in net.layers[made].parameters()]
    )
