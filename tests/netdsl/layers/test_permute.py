"""Permute: the new place of each axis."""

from __future__ import annotations

import pytest
import torch

from netdsl.errors import NetError, ShapeError
from netdsl.layer import Layer
from tests.nets import layer_of


def permute(order: str, shape: tuple[int, ...]) -> Layer:
    text = f'bottom: "x" top: "y" permute_param {{ {order} }}'
    return layer_of("Permute", text, shape)


def test_axes_that_order_leaves_out_follow():
    x = torch.arange(2 * 3 * 4 * 5.0).view(2, 3, 4, 5)
    y = permute("order: 0 order: 3", (2, 3, 4, 5))(x)
    assert y.shape == (2, 5, 3, 4)
    assert all(y[0, w, c, h] == x[0, c, h, w] for c in range(3) for h in range(4) for w in range(5))
    assert torch.equal(permute("", (2, 3, 4, 5))(x), x)


@pytest.mark.parametrize(
    ("order", "kind", "says"),
    [("order: 1 order: 1", NetError, "twice"), ("order: 0 order: 4", ShapeError, "the bottom has 4 axes")],
)
def test_a_wrong_order_is_refused(order, kind, says):
    with pytest.raises(kind, match=says):
        permute(order, (2, 3, 4, 5))
