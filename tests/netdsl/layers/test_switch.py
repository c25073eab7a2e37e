"""Switch uses its last bottom as the selector."""

from __future__ import annotations

import pytest
import torch

from netdsl.errors import ShapeError


def test_the_last_bottom_is_the_selector(made):
    layer = made("Switch", "", (2, 3), (2, 3), (2, 3))
    bottoms = [torch.rand(2, 3, requires_grad=True) for _ in range(3)]
    top = layer(*bottoms)
    assert torch.equal(top, bottoms[2])
    top.sum().backward()
    assert [bottom.grad is None for bottom in bottoms] == [True, True, False]


def test_bottoms_of_different_shapes_are_refused(made):
    with pytest.raises(ShapeError, match="same shape"):
        made("Switch", "", (2, 3), (2, 4))
