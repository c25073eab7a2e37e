"""Unpooling compared with loops over the bottom."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netdsl.errors import NetError, ShapeError

SHAPE = (2, 3, 3, 2)
SETTINGS = "unpooling_param { %s kernel_size: 3 stride: 2 unpool_h: 6 unpool_w: 5 }"


def spread(x, divide):
    """Unpool with windows of 3 x 3 at every second place of 6 x 5. The last row of windows extends beyond the top."""
    top = np.zeros((2, 3, 6, 5))
    for n, c, i, j in np.ndindex(*SHAPE):
        window = top[n, c, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3]
        window += x[n, c, i, j] / (window.size if divide else 1)
    return top


def test_a_mask_puts_values_back_in_their_places(made):
    layer = made("Unpooling", SETTINGS % "", SHAPE, SHAPE)
    draw = np.random.default_rng(1)
    x, mask = draw.normal(size=SHAPE), np.stack([draw.permutation(30)[:6] for _ in range(6)]).reshape(SHAPE)
    wanted = np.zeros((2, 3, 30))
    for n, c, i, j in np.ndindex(*SHAPE):
        wanted[n, c, mask[n, c, i, j]] = x[n, c, i, j]
    bottom = torch.from_numpy(x).requires_grad_()
    top = layer(bottom, torch.from_numpy(mask).float())
    assert layer.top_shapes([SHAPE, SHAPE]) == [(2, 3, 6, 5)]
    np.testing.assert_array_equal(top.detach().flatten(2), wanted)
    back = draw.normal(size=top.shape)
    top.backward(torch.from_numpy(back))
    for n, c, i, j in np.ndindex(*SHAPE):
        assert bottom.grad[n, c, i, j] == back[n, c].flat[mask[n, c, i, j]]


def test_without_a_mask_values_go_to_the_corners_of_their_windows(made):
    layer = made("Unpooling", "unpooling_param { kernel_size: 2 stride: 2 unpool_size: 4 }", (1, 1, 2, 3))
    x = torch.arange(1.0, 7).view(1, 1, 2, 3)
    assert layer(x)[0, 0].tolist() == [[1, 0, 2, 3], [0, 0, 0, 0], [4, 0, 5, 6], [0, 0, 0, 0]]


@pytest.mark.parametrize("method", ["AVE", "TILE"])
def test_values_are_spread_over_windows(made, method):
    layer, x = made("Unpooling", SETTINGS % f"unpool: {method}", SHAPE), np.random.default_rng(1).normal(size=SHAPE)
    bottom = torch.from_numpy(x).requires_grad_()
    top = layer(bottom)
    np.testing.assert_allclose(top.detach(), spread(x, divide=method == "AVE"))
    back = np.random.default_rng(2).normal(size=top.shape)
    top.backward(torch.from_numpy(back))
    for n, c, i, j in np.ndindex(*SHAPE):  # the fork's gradient for TILE is the one for AVE
        mean = back[n, c, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3].mean()
        assert bottom.grad[n, c, i, j].item() == pytest.approx(mean)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ("kernel_size: 2", "unpool_size, or both"),
        ("kernel_size: 2 unpool_h: 4", "unpool_size, or both"),
        ("kernel_size: 2 unpool_size: 4 unpool_h: 4 unpool_w: 4", "unpool_size, or both"),
        ("kernel_size: 2 unpool_size: 4 pad: 1", "pad isn't 0"),
        ("kernel_size: 2 unpool_size: 0", "1 or more"),
        ("unpool: DIV kernel_size: 2 unpool_size: 4", "DIV belongs to ParseNet"),
        ("unpool: AVE kernel_size: 2 stride: 2 unpool_size: 2", "starts beyond the top"),
    ],
)
def test_wrong_settings_are_refused(made, settings, says):
    with pytest.raises(NetError, match=says):
        made("Unpooling", f"unpooling_param {{ {settings} }}", (1, 1, 2, 3))


def test_a_mask_of_another_shape_is_refused(made):
    with pytest.raises(ShapeError, match="the mask has shape"):
        made("Unpooling", SETTINGS % "", SHAPE, (2, 3, 3, 3))
