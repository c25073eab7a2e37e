"""Interp compared with a loop over pixels."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.errors import NetError, ShapeError
from netdsl.layers.interp import Interp
from tests.nets import layer_of


def interp(settings, shape=(2, 3, 5, 7)) -> Interp:
    return layer_of("Interp", f"interp_param {{ {settings} }}", shape)


def naive(x, height, width):
    top = np.zeros((*x.shape[:2], height, width))
    for i in range(height):
        for j in range(width):
            y = i * (x.shape[2] - 1) / (height - 1) if height > 1 else 0
            z = j * (x.shape[3] - 1) / (width - 1) if width > 1 else 0
            y0, z0 = int(y), int(z)
            y1, z1 = min(y0 + 1, x.shape[2] - 1), min(z0 + 1, x.shape[3] - 1)
            upper = x[:, :, y0, z0] * (1 - z + z0) + x[:, :, y0, z1] * (z - z0)
            lower = x[:, :, y1, z0] * (1 - z + z0) + x[:, :, y1, z1] * (z - z0)
            top[:, :, i, j] = upper * (1 - y + y0) + lower * (y - y0)
    return top


@pytest.mark.parametrize(
    ("settings", "size", "crop"),
    [
        ("zoom_factor: 3", (13, 19), (0, 0)),
        ("shrink_factor: 2", (3, 4), (0, 0)),
        ("shrink_factor: 2 zoom_factor: 3", (7, 10), (0, 0)),
        ("height: 4 width: 9", (4, 9), (0, 0)),
        ("height: 1 width: 3", (1, 3), (0, 0)),
        ("height: 5 width: 7", (5, 7), (0, 0)),
        ("height: 4 width: 9 zoom_factor: 3", (13, 19), (0, 0)),  # a single factor takes precedence over a size
        ("height: 4 width: 9 zoom_factor: 3 shrink_factor: 2", (4, 9), (0, 0)),
        ("zoom_factor: 2 pad_beg: -1 pad_end: -2", (3, 7), (1, 2)),
    ],
)
def test_values_and_shape_equal_those_of_a_loop(settings, size, crop):
    layer, x = interp(settings), np.random.default_rng(1).normal(size=(2, 3, 5, 7))
    cropped = x[:, :, crop[0] : 5 - crop[1], crop[0] : 7 - crop[1]]
    top = layer(torch.from_numpy(x))
    assert tuple(top.shape) == layer.top_shapes([x.shape])[0] == (2, 3, *size)
    np.testing.assert_allclose(top, naive(cropped, *size), rtol=1e-12, atol=1e-12)


def test_gradient():
    x = torch.rand(1, 2, 4, 5, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(interp("height: 7 width: 3 pad_beg: -1", (1, 2, 4, 5)), (x,))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ("", "set shrink_factor, zoom_factor"),
        ("height: 3", "both height and width"),
        ("height: 0 width: 3", "height is 0 and width is 3"),
        ("zoom_factor: 2 pad_beg: 1", "can only crop"),
        ("zoom_factor: 0", "1 or more"),
    ],
)
def test_wrong_settings_are_refused(settings, says):
    with pytest.raises(NetError, match=says):
        interp(settings)


def test_an_empty_result_is_refused():
    with pytest.raises(ShapeError, match="crop the whole image"):
        interp("zoom_factor: 2 pad_beg: -2 pad_end: -3")


def test_synopsys_counts_pixels():
    x = torch.tensor([[[[0.0, 3]]]])
    layer = interp("full_zoom_factor: 2", (1, 1, 1, 2))
    assert layer.top_shapes([(1, 1, 1, 2)]) == [(1, 1, 2, 4)]
    assert layer(x).flatten().tolist() == pytest.approx([0, 1, 2, 3] * 2)
    for settings, width in (("zoom_factor: 3", 4), ("height: 2 width: 5", 5), ("shrink_factor: 2 zoom_factor: 2", 1)):
        layer = interp(f"full_zoom_factor: 2 {settings}", (1, 1, 1, 2))
        assert layer.top_shapes([(1, 1, 1, 2)])[0][3] == width
    with pytest.raises(NetError, match="full_zoom_factor is less than 1"):
        interp("full_zoom_factor: 0")


def test_a_second_bottom_determines_the_size():
    message = from_text("top: 't' interp_param { pad_end: -1 }", pb.LayerParameter)
    layer, x = Interp(message, [(2, 3, 5, 7), (2, 1, 4, 9)]), np.random.default_rng(1).normal(size=(2, 3, 5, 7))
    top = layer(torch.from_numpy(x), torch.rand(2, 1, 4, 9))
    assert tuple(top.shape) == layer.top_shapes([x.shape, (2, 1, 4, 9)])[0] == (2, 3, 4, 9)
    np.testing.assert_allclose(top, naive(x[:, :, :4, :6], 4, 9), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("settings", "second", "says"),
    [
        ("height: 4 width: 9", (2, 1, 4, 9), "both height and the second bottom determine the size"),
        ("zoom_factor: 2", (2, 1, 4, 9), "both zoom_factor and the second bottom"),
        ("", (3, 1, 4, 9), "same batch"),
        ("", (2, 4), "4 and 2"),
    ],
)
def test_a_mismatched_second_bottom_is_refused(settings, second, says):
    with pytest.raises(NetError, match=says):
        layer_of("Interp", f"interp_param {{ {settings} }}", (2, 3, 5, 7), second)
