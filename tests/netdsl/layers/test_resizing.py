"""ResizeBilinear, ResizeNearestNeighbor and ImResize."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from netdsl.errors import NetError, ShapeError
from tests.nets import layer_of

DRAW = np.random.default_rng(4)
PLAIN, ALIGNED, HALF = "", "align_corners: true", "half_pixel_centers: true"


def make(kind, settings, shape):
    block = {"ResizeBilinear": "resize_bilinear_param", "ImResize": "imresize_param"}
    text = f"{block.get(kind, 'resize_nearest_neighbor_param')} {{ {settings} }}"
    return layer_of(kind, text, shape)


def some(*shape):
    return torch.from_numpy(DRAW.normal(size=shape)).requires_grad_()


def place(index, size, old, mode):
    if mode == ALIGNED and size > 1:
        return index * (old - 1) / (size - 1)
    return (index + 0.5) * old / size if mode.startswith("half") else index * old / size


def nearest(x, size, mode):
    top = np.zeros((*x.shape[:2], *size))
    for h, w in np.ndindex(*size):
        where = [place(i, n, old, mode) for i, n, old in zip((h, w), size, x.shape[2:], strict=True)]
        if mode == ALIGNED:
            where = [math.floor(each + 0.5) for each in where]
        elif mode == "half_pixel_onnx: true":
            where = [each - 0.5 for each in where]
        at = [min(max(math.floor(each), 0), old - 1) for each, old in zip(where, x.shape[2:], strict=True)]
        top[:, :, h, w] = x[:, :, at[0], at[1]]
    return top


@pytest.mark.parametrize("mode", [PLAIN, ALIGNED, HALF, "half_pixel_onnx: true"])
@pytest.mark.parametrize("size", [(9, 10), (3, 2), (1, 7)])
def test_nearest_neighbors_are_sampled(mode, size):
    x = some(2, 3, 4, 5)
    settings = f"data_format: 'NCHW' output_height: {size[0]} output_width: {size[1]} {mode}"
    layer = make("ResizeNearestNeighbor", settings, x.shape)
    np.testing.assert_array_equal(layer(x).detach(), nearest(x.detach().numpy(), size, mode))
    assert torch.autograd.gradcheck(layer, (x,))


def bilinear(x, size, mode):
    for axis, wanted in enumerate(size, 2):
        old, parts = x.shape[axis], []
        for index in range(wanted):
            at = place(index, wanted, old, mode) - (0.5 if mode == HALF else 0)
            low = math.floor(at)
            one, other = (x.take(min(max(each, 0), old - 1), axis) for each in (low, math.ceil(at)))
            parts.append(one + (other - one) * (at - low))
        x = np.stack(parts, axis)
    return x


@pytest.mark.parametrize("mode", [PLAIN, ALIGNED, HALF])
@pytest.mark.parametrize("size", [(9, 10), (3, 2), (1, 7)])
def test_bilinear_values_equal_a_loop(mode, size):
    x = some(2, 3, 4, 5)
    settings = f"data_format: 'NCHW' output_height: {size[0]} output_width: {size[1]} {mode}"
    layer = make("ResizeBilinear", settings, x.shape)
    # the fork computes positions in single precision
    np.testing.assert_allclose(layer(x).detach(), bilinear(x.detach().numpy(), size, mode), atol=1e-5)
    assert torch.autograd.gradcheck(layer, (x,))


def test_the_pytorch_mode_samples_one_pixel_from_the_corner():
    x = some(1, 2, 4, 5)
    settings = "data_format: 'NCHW' output_height: 1 output_width: 1 pytorch_half_pixel: true"
    assert torch.equal(make("ResizeBilinear", settings, x.shape)(x), x[:, :, :1, :1])


@pytest.mark.parametrize("kind", ["ResizeBilinear", "ResizeNearestNeighbor"])
def test_channels_come_last_by_default(kind):
    x = some(2, 3, 4, 5)
    scales = "scale_height: 2.5 scale_width: 1.5"
    last = make(kind, scales, (2, 4, 5, 3))
    first = make(kind, f"data_format: 'NCHW' {scales}", x.shape)
    assert last.top_shapes([(2, 4, 5, 3)]) == [(2, 10, 7, 3)]
    torch.testing.assert_close(last(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2), first(x))


@pytest.mark.parametrize("kind", ["ResizeBilinear", "ResizeNearestNeighbor"])
@pytest.mark.parametrize(
    ("settings", "shape", "message"),
    [
        ("align_corners: true half_pixel_centers: true", (2, 4, 5, 3), "only one of align_corners"),
        ("data_format: 'NCHWD'", (2, 4, 5, 3), "set it to NHWC or NCHW"),
        ("scale_width: 0.1", (2, 4, 5, 3), "the width of the top would be 0"),
        ("", (2, 4, 5), "images with 4 axes"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(kind, settings, shape, message):
    with pytest.raises(NetError, match=message):
        make(kind, settings, shape)


def cubic(values, t):
    a, b, c, d = values
    return (
        (-a / 2 + 3 * b / 2 - 3 * c / 2 + d / 2) * t**3 + (a - 5 * b / 2 + 2 * c - d / 2) * t**2 + (c - a) / 2 * t + b
    )


def enlarged(row, size):
    """Enlarge one row of pixels by cubic interpolation."""
    old, top = len(row), []
    for index in range(size):
        at = (index + 0.5) * old / size - 0.5
        low = max(int(at + 1e-5), 0)
        two = min(low + 1, old - 1)
        around = [row[max(low - 1, 0)], row[low], row[two], row[min(two + 1, old - 1)]]
        top.append(cubic(around, at - low))
    return top


def test_im_resize_averages_the_middles_of_all_items():
    x = some(2, 3, 8, 10)
    layer = make("ImResize", "factor: 2 start_scale: 1 scale_gap: 0.25", x.shape)
    wanted = np.zeros((1, 3, 16, 20))
    for item, (high, wide) in zip(x.detach().numpy(), ((0, 0), (1, 1)), strict=True):  # a quarter of 4 and of 5
        middle = item[:, high : 8 - high, wide : 10 - wide]
        tall = np.apply_along_axis(enlarged, 1, middle, 16)
        wanted[0] += np.apply_along_axis(enlarged, 2, tall, 20) / 2
    np.testing.assert_allclose(layer(x).detach(), wanted)
    assert layer.top_shapes([x.shape]) == [(1, 3, 16, 20)]
    assert torch.autograd.gradcheck(layer, (x,))


def test_im_resize_scales_to_a_size():
    settings = "target_spatial_height: 6 target_spatial_width: 7"
    assert make("ImResize", settings, (1, 3, 8, 10)).top_shapes([(1, 3, 8, 10)]) == [(1, 3, 6, 7)]
    with pytest.raises(NetError, match="the top would be empty"):
        make("ImResize", "factor: 0.01", (1, 3, 8, 10))
    with pytest.raises(ShapeError, match="images with 4 axes"):
        make("ImResize", "factor: 2", (3, 8, 10))
