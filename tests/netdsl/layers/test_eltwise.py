"""Eltwise: sums, products and maxima, and which bottom gets the gradient where values are equal."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from netdsl.errors import NetError
from netdsl.layer import Layer


def run(made: Callable[..., Layer], settings: str, *values: list[float]) -> tuple[list[float], list[list[float]]]:
    """Return the top, and the gradient of each bottom when the top's is 1, 10, 100, ..."""
    layer = made("Eltwise", f"eltwise_param {{ {settings} }}", *[(len(each),) for each in values])
    bottoms = [torch.tensor(each, dtype=torch.float, requires_grad=True) for each in values]
    top = layer(*bottoms)
    top.backward(torch.tensor([10.0**place for place in range(len(top))]))
    return top.tolist(), [bottom.grad.tolist() for bottom in bottoms]


def test_sum(made):
    assert run(made, "", [1, 2], [3, 5], [7, 11]) == ([11, 18], [[1, 10]] * 3)


def test_sum_with_coefficients(made):
    top, gradients = run(made, "coeff: 2 coeff: -1 coeff: 0.5", [1, 2], [3, 5], [8, 16])
    assert top == [3, 7]
    assert gradients == [[2, 20], [-1, -10], [0.5, 5]]


@pytest.mark.parametrize("stable", ["true", "false"])
def test_products_of_zeros_have_a_gradient(made, stable):
    top, gradients = run(made, f"operation: PROD stable_prod_grad: {stable}", [2, 0], [3, 5], [7, 11])
    assert top == [42, 0]
    assert gradients == [[21, 550], [14, 0], [6, 0]]


def test_maximum(made):
    # Equal values: all, the first two, the last two, the first and the last.
    top, gradients = run(made, "operation: MAX coeff: 1 coeff: 2 coeff: 3", [5, 5, 1, 5], [5, 5, 5, 1], [5, 1, 5, 5])
    assert top == [5, 5, 5, 5]
    assert gradients == [[0, 0, 0, 1000], [1, 10, 100, 0], [0, 0, 0, 0]]


def test_bottoms_stay_as_they_are(made):
    bottoms = [torch.ones(2) for _ in range(3)]
    for operation in ("SUM", "PROD", "MAX"):
        made("Eltwise", f"eltwise_param {{ operation: {operation} }}", (2,), (2,), (2,))(*bottoms)
    np.testing.assert_array_equal(torch.stack(bottoms), np.ones((3, 2)))


@pytest.mark.parametrize(
    ("settings", "shapes", "message"),
    [
        ("", [(2, 3)], "must have 2 or more bottoms, not 1"),
        ("", [(2, 3), (2, 1)], r"bottom 'bottom1' has shape \[2, 1\], but the first one has \[2, 3\]"),
        ("coeff: 1", [(2,), (2,)], "1 coeff for 2 bottoms"),
        ("operation: PROD coeff: 1 coeff: 2", [(2,), (2,)], "coeff applies only to sums"),
        ("operation: STOCHASTIC_SUM", [(2,), (2,)], "operation STOCHASTIC_SUM belongs to a fork"),
        ("coeff_blob: true", [(2,), (2,)], "'coeff_blob' is a setting of a fork"),
    ],
)
def test_wrong_settings_are_refused(made, settings, shapes, message):
    with pytest.raises(NetError, match=message):
        made("Eltwise", f"eltwise_param {{ {settings} }}", *shapes)
