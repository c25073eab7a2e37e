"""MarginInnerProduct compared with the formulas of the SphereFace paper."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.errors import NetError, ShapeError
from netdsl.layers.margin_inner_product import MarginInnerProduct

TYPES = ["SINGLE", "DOUBLE", "TRIPLE", "QUADRUPLE"]


def margin(settings, shape=(6, 2, 3), labels=(6,), tops=2) -> MarginInnerProduct:
    text = (
        "top: 't' " * tops
        + f"""margin_inner_product_param {{ num_output: 5
        weight_filler {{ type: 'gaussian' std: 1 }} {settings} }}"""
    )
    layer = MarginInnerProduct(from_text(text, pb.LayerParameter, lenient=True), [shape, labels])
    layer.allocate("cpu", {})
    return layer.double()


def psi(angle, times):
    """Compute (-1)^k cos(m angle) - 2k, where the angle is in piece k."""
    k = min(int(angle * times / math.pi), times - 1)
    return (-1) ** k * math.cos(times * angle) - 2 * k


def psi_slope(angle, times):
    """Compute the derivative of psi with respect to the cosine."""
    k = min(int(angle * times / math.pi), times - 1)
    return (-1) ** k * times * math.sin(times * angle) / math.sin(angle)


@pytest.mark.parametrize("times", [1, 2, 3, 4])
def test_values_and_gradients_equal_the_formulas(times):
    torch.manual_seed(times)
    layer = margin(f"type: {TYPES[times - 1]} base: 10 gamma: 0.5 power: 2 lambda_min: 0.25 iteration: 3")
    x, label = torch.randn(6, 2, 3, dtype=torch.double, requires_grad=True), torch.tensor([0.0, 4, 2, 2, 1, 3])
    weight = layer.weight.detach().numpy().copy()
    weight /= np.sqrt((weight**2).sum(1, keepdims=True))
    top, weigh = layer(x, label)
    scale = 10 * (1 + 0.5 * 4) ** -2
    assert weigh.tolist() == pytest.approx([scale])
    np.testing.assert_allclose(layer.weight.detach(), weight)

    flat, back = x.detach().numpy().reshape(6, 6), np.random.default_rng(1).normal(size=(6, 5))
    wanted, gradient = flat @ weight.T, back @ weight
    for i, j in enumerate(label.int().tolist() if times > 1 else []):
        length = np.sqrt((flat[i] ** 2).sum())
        angle = math.acos(wanted[i, j] / length)
        slope = psi_slope(angle, times)
        along = np.array([slope, (psi(angle, times) - slope * math.cos(angle)) / length])
        along /= np.sqrt((along**2).sum())
        mine = along[0] * weight[j] + along[1] * flat[i]
        gradient[i] += back[i, j] * (mine - weight[j]) / (1 + scale)
        wanted[i, j] = (scale * wanted[i, j] + length * psi(angle, times)) / (1 + scale)
    np.testing.assert_allclose(top.detach(), wanted)
    top.backward(torch.from_numpy(back))
    np.testing.assert_allclose(x.grad.view(6, 6), gradient)
    np.testing.assert_allclose(layer.weight.grad, back.T @ flat)


def test_lambda_falls_to_its_minimum():
    layer = margin("base: 10 gamma: 1 lambda_min: 2")
    x, label = torch.randn(6, 2, 3).double(), torch.zeros(6)
    assert [layer(x, label)[1].item() for _ in range(5)] == pytest.approx([10 / 2, 10 / 3, 10 / 4, 2, 2])


def test_shapes():
    assert margin("").top_shapes([(6, 2, 3), (6,)]) == [(6, 5), (1,)]
    assert margin("axis: 2", labels=(6, 2), tops=1).top_shapes([(6, 2, 3), (6, 2)]) == [(6, 2, 5)]
    top = margin("axis: 2 type: DOUBLE", labels=(6, 2), tops=1)(torch.randn(6, 2, 3).double(), torch.ones(6, 2))
    assert top.shape == (6, 2, 5)


def test_wrong_settings_are_refused():
    with pytest.raises(NetError, match="num_output"):
        margin("num_output: 0")
    with pytest.raises(ShapeError, match="7 labels for 6 vectors"):
        margin("", labels=(7,))
