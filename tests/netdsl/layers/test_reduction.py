"""Reduction and Tile: their effect on axes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netdsl.errors import NetError

OPERATIONS = {  # the value for a row, and its gradient
    "SUM": (np.sum, np.ones_like),
    "ASUM": (lambda row: np.abs(row).sum(), np.sign),
    "SUMSQ": (lambda row: (row**2).sum(), lambda row: 2 * row),
    "MEAN": (np.mean, lambda row: np.full_like(row, 1 / len(row))),
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(("axis", "top"), [(0, ()), (1, (2,)), (-1, (2, 3))])
def test_every_operation_reduces_its_axes(made, operation, axis, top):
    value, slope = OPERATIONS[operation]
    layer = made("Reduction", f"reduction_param {{ operation: {operation} axis: {axis} coeff: -0.5 }}", (2, 3, 4))
    x = torch.randint(-2, 3, (2, 3, 4)).double().requires_grad_()  # includes zeros
    found = layer(x)
    found.sum().backward()
    assert found.shape == top
    rows = x.detach().numpy().reshape(int(np.prod(top)), -1)
    np.testing.assert_allclose(found.detach().reshape(-1), [-0.5 * value(row) for row in rows])
    np.testing.assert_allclose(x.grad.reshape(rows.shape), [-0.5 * slope(row) for row in rows])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_tile_repeats_an_axis(made, axis):
    x = torch.randn(2, 3, 4, requires_grad=True)
    top = made("Tile", f"tile_param {{ axis: {axis} tiles: 3 }}", (2, 3, 4))(x)
    top.sum().backward()
    np.testing.assert_array_equal(top.detach(), np.concatenate([x.detach().numpy()] * 3, axis))
    assert x.grad.unique().tolist() == [3]


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        ("Reduction", "reduction_param { axis: 3 }", "axis 3 doesn't exist"),
        ("Tile", "tile_param { tiles: 2 axis: 3 }", "axis 3 doesn't exist"),
        ("Tile", "tile_param { axis: 1 }", "tiles is missing; set it to 1 or more"),
        ("Tile", "tile_param { tiles: -1 }", "tiles is -1; set it to 1 or more"),
    ],
)
def test_wrong_settings_are_refused(made, kind, settings, message):
    with pytest.raises(NetError, match=message):
        made(kind, settings, (2, 3, 4))
