"""Scale and Bias: how the small blob is broadcast over the bottom, and the gradients of both."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netdsl.errors import NetError, ShapeError

SHAPE = (2, 3, 4, 5)
SPANS = {  # axis and num_axes, and the axes of the bottom that the blob spans
    (1, 1): [1],
    (0, 1): [0],
    (0, 2): [0, 1],
    (1, 2): [1, 2],
    (-1, 1): [3],
    (-3, 2): [1, 2],
    (2, -1): [2, 3],
    (0, -1): [0, 1, 2, 3],
    (1, 0): [],
}


def spread(blob: np.ndarray, axes: list[int]) -> np.ndarray:
    """Broadcast the blob to the bottom's shape, value by value."""
    found = np.empty(SHAPE)
    for place in np.ndindex(*SHAPE):
        found[place] = blob[tuple(place[axis] for axis in axes)]
    return found


def summed(x: np.ndarray, axes: list[int]) -> np.ndarray:
    return x.sum(tuple(axis for axis in range(4) if axis not in axes))


@pytest.mark.parametrize(("axis", "num_axes"), SPANS)
@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("kind", ["Scale", "Scale and bias", "Bias"])
def test_the_blob_is_broadcast_over_its_axes(made, kind, second, axis, num_axes):
    axes = SPANS[axis, num_axes]
    small = tuple(SHAPE[each] for each in axes)
    name = "scale_param" if kind.startswith("Scale") else "bias_param"
    term = "bias_term: true" if kind == "Scale and bias" else ""
    span = f"axis: {axis}" if second else f"axis: {axis} num_axes: {num_axes}"
    shapes = (SHAPE, small) if second else (SHAPE,)
    layer = made(kind.split()[0], f"{name} {{ {span} {term} }}", *shapes).double()
    learned = list(layer.parameters())
    assert [tuple(blob.shape) for blob in learned] == [small] * (len(learned))
    assert len(learned) == (not second) + bool(term)
    for blob in learned:
        torch.nn.init.normal_(blob)

    x = torch.randn(SHAPE, dtype=torch.float64, requires_grad=True)
    blobs = [torch.randn(small, dtype=torch.float64, requires_grad=True)] if second else []
    top = layer(x, *blobs)
    gradient = torch.randn(SHAPE, dtype=torch.float64)
    top.backward(gradient)

    blobs += learned
    values = [spread(blob.detach().numpy(), axes) for blob in blobs]
    scale = values[0] if kind != "Bias" else 1
    bias = 0 if kind == "Scale" else values[-1]
    np.testing.assert_allclose(top.detach(), x.detach().numpy() * scale + bias)
    np.testing.assert_allclose(x.grad, gradient.numpy() * scale)
    if kind != "Bias":
        np.testing.assert_allclose(blobs[0].grad, summed(gradient.numpy() * x.detach().numpy(), axes))
    if kind != "Scale":
        np.testing.assert_allclose(blobs[-1].grad, summed(gradient.numpy(), axes))


def test_initial_values_follow_the_settings(made):
    assert made("Scale", "scale_param { bias_term: true }", (2, 3)).weight.tolist() == [1, 1, 1]
    assert made("Scale", "scale_param { bias_term: true }", (2, 3)).bias.tolist() == [0, 0, 0]
    assert made("Scale", "scale_param { filler { value: 0.5 } }", (2, 3)).weight.tolist() == [0.5, 0.5, 0.5]
    assert made("Scale", "scale_param { filler { } }", (2, 3)).weight.tolist() == [0, 0, 0]
    assert made("Bias", "bias_param { filler { value: 2 } }", (2, 3)).bias.tolist() == [2, 2, 2]


def test_the_bottom_stays_as_it_is(made):
    x = torch.ones(2, 3)
    layer = made("Scale", "scale_param { bias_term: true filler { value: 2 } bias_filler { value: 1 } }", (2, 3))
    assert layer(x).unique().tolist() == [3]
    assert x.unique().tolist() == [1]


@pytest.mark.parametrize("kind", ["Scale", "Bias"])
@pytest.mark.parametrize(
    ("settings", "shapes", "message"),
    [
        ("axis: 4", [SHAPE], "axis 4 doesn't exist"),
        ("num_axes: -2", [SHAPE], "num_axes is -2; set it to 0 or more, or to -1"),
        ("axis: 2 num_axes: 3", [SHAPE], "doesn't have 3 axes from axis 2 on"),
        ("axis: 1", [SHAPE, (3, 5)], r"the second bottom \[3, 5\] must match the first, \[2, 3, 4, 5\], from axis 1"),
        ("axis: 3", [SHAPE, (5, 1)], r"the second bottom \[5, 1\] must match"),
    ],
)
def test_wrong_settings_are_refused(made, kind, settings, shapes, message):
    with pytest.raises(NetError, match=message):
        made(kind, f"{kind.lower()}_param {{ {settings} }}", *shapes)


@pytest.mark.parametrize("kind", ["Scale", "Bias"])
def test_a_second_bottom_is_checked_when_the_net_is_reshaped(made, kind):
    layer = made(kind, f"{kind.lower()}_param {{ axis: 0 }}", SHAPE, (2, 3))
    assert layer.top_shapes([(7, 3, 4, 5), (7, 3)]) == [(7, 3, 4, 5)]
    with pytest.raises(ShapeError, match="must match"):
        layer.top_shapes([(7, 3, 4, 5), (2, 3)])


def test_bounds_of_a_fork_are_refused(made):
    with pytest.raises(NetError, match="'min_value' is a setting of a fork"):
        made("Scale", "scale_param { min_value: 0 }", SHAPE)
