"""MVN compared with Caffe's formulas, which aren't each other's derivatives when eps is large."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netdsl.errors import ShapeError


@pytest.mark.parametrize("across", ["false", "true"])
@pytest.mark.parametrize(("normalize", "eps"), [("false", 0.0), ("true", 1e-9), ("true", 0.5)])
def test_values_and_gradients_equal_caffes_formulas(made, across, normalize, eps):
    shape = (2, 3, 4, 5)
    settings = f"mvn_param {{ across_channels: {across} normalize_variance: {normalize} eps: {eps} }}"
    layer = made("MVN", settings, shape)
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    gradient = torch.randn(shape, dtype=torch.float64)
    top = layer(x)
    top.backward(gradient)
    rows = 2 if across == "true" else 6
    for values, found, above, below in zip(
        *(tensor.detach().numpy().reshape(rows, -1) for tensor in (x, top, gradient, x.grad)), strict=True
    ):
        divisor = values.std() + eps if normalize == "true" else 1
        normal = (values - values.mean()) / divisor
        np.testing.assert_allclose(found, normal, atol=1e-8)
        share = (above * normal).mean() * normal if normal.any() and normalize == "true" else 0
        np.testing.assert_allclose(below, (above - above.mean() - share) / divisor, atol=1e-8)


def test_equal_values_have_a_finite_gradient(made):
    x = torch.ones(1, 2, 3, 3, requires_grad=True)
    made("MVN", "", (1, 2, 3, 3))(x).square().sum().backward()
    assert x.grad.isfinite().all()


@pytest.mark.parametrize("shape", [(2,), (2, 3), (2, 3, 4), (2, 3, 4, 5)])
def test_the_top_has_four_axes(made, shape):
    assert made("MVN", "", shape).top_shapes([shape]) == [shape + (1,) * (4 - len(shape))]


def test_five_axes_are_too_many(made):
    with pytest.raises(ShapeError, match="more than four axes"):
        made("MVN", "", (2, 3, 4, 5, 6))


def test_synopsys_adds_eps_to_the_variance(made):
    x = torch.tensor([[[[1.0, 5]]]])  # mean 3, variance 4
    layer = made("MVN", "mvn_param { eps: 12 add_eps_before_sqrt: true }", (1, 1, 1, 2))
    assert layer(x).flatten().tolist() == pytest.approx([-0.5, 0.5])
    layer = made("MVN", "mvn_param { eps: 2 add_eps_before_sqrt: false }", (1, 1, 1, 2))
    assert layer(x).flatten().tolist() == pytest.approx([-0.5, 0.5])
