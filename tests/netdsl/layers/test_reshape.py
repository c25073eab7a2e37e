"""Reshape and Flatten."""

import numpy as np
import pytest
import torch

from netdsl.errors import NetError, ShapeError
from tests.nets import layer_of


def reshape(settings, dims, shape=(2, 6, 3, 5)):
    dims = " ".join(f"dim: {size}" for size in dims)
    return layer_of("Reshape", f"reshape_param {{ shape {{ {dims} }} {settings} }}", shape)


@pytest.mark.parametrize(
    ("settings", "dims", "wanted"),
    [
        ("", [0, -1, 9], (2, 10, 9)),
        ("", [-1], (180,)),
        ("", [0, 0, 15], (2, 6, 15)),
        ("axis: 1", [-1], (2, 90)),
        ("axis: 1 num_axes: 1", [2, 3], (2, 2, 3, 3, 5)),
        ("axis: 1 num_axes: 2", [0, 0], (2, 6, 3, 5)),
        ("axis: -3 num_axes: 1", [1, 3], (2, 6, 1, 3, 5)),
        ("axis: -1", [1, 1], (2, 6, 3, 5, 1, 1)),
        ("axis: 0 num_axes: 0", [1], (1, 2, 6, 3, 5)),
        ("axis: 1 num_axes: 0", [1, -1], (2, 1, 1, 6, 3, 5)),
        ("axis: 2 num_axes: 2", [], None),
        ("num_axes: 2", [12], (12, 3, 5)),
    ],
)
def test_the_shape_is_caffes(settings, dims, wanted):
    if wanted is None:
        with pytest.raises(ShapeError, match="don't fit into shape"):
            reshape(settings, dims)
        return
    layer = reshape(settings, dims)
    x = torch.arange(180.0).reshape(2, 6, 3, 5)
    assert layer.top_shapes([(2, 6, 3, 5)]) == [wanted]
    np.testing.assert_array_equal(layer(x), x.numpy().reshape(wanted))


def test_zeros_and_minus_one_follow_another_batch():
    assert reshape("", [0, -1, 9])(torch.zeros(4, 6, 3, 5)).shape == (4, 10, 9)


def test_pixels_are_shuffled_as_in_intels_caffe():
    x = torch.arange(2 * 12 * 3 * 4.0).reshape(2, 12, 3, 4)
    wanted = np.zeros((2, 3, 6, 8))
    for n, c, h, w in np.ndindex(2, 12, 3, 4):
        wanted[n, c // 4, 2 * h + c // 2 % 2, 2 * w + c % 2] = x[n, c, h, w]
    np.testing.assert_array_equal(layer_of("Reshape", "reshape_param { pixelshuffler: 2 }", (2, 12, 3, 4))(x), wanted)


@pytest.mark.parametrize(
    ("settings", "dims", "error", "message"),
    [
        ("", [-1, -1], NetError, "use -1 at most once"),
        ("", [-2, 1], NetError, "no other negative number"),
        ("", [0, 7, -1], ShapeError, "don't fit into shape"),
        ("", [2, 6, 16], ShapeError, "180 values, which don't fit into shape"),
        ("axis: 5", [1], ShapeError, "axis 5 doesn't exist"),
        ("axis: -6", [1], ShapeError, "axis -6 doesn't exist"),
        ("axis: 1 num_axes: 4", [1], ShapeError, "num_axes 4 from axis 1"),
        ("num_axes: -2", [1], ShapeError, "num_axes -2"),
        ("", [2, 6, 3, 5, 0], ShapeError, "the 0 at place 4"),
    ],
)
def test_problems_are_reported(settings, dims, error, message):
    with pytest.raises(error, match=message):
        reshape(settings, dims)


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ("", (2, 90)),
        ("flatten_param { axis: 0 }", (180,)),
        ("flatten_param { axis: 1 end_axis: 2 }", (2, 18, 5)),
        ("flatten_param { axis: -3 end_axis: -2 }", (2, 18, 5)),
        ("flatten_param { axis: 2 end_axis: 2 }", (2, 6, 3, 5)),
        ("flatten_param { axis: 2 end_axis: 1 }", (2, 6, 1, 3, 5)),
    ],
)
def test_flatten_joins_axes(settings, wanted):
    x = torch.arange(180.0).reshape(2, 6, 3, 5)
    np.testing.assert_array_equal(layer_of("Flatten", settings, (2, 6, 3, 5))(x), x.numpy().reshape(wanted))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("flatten_param { axis: 3 end_axis: 1 }", "end_axis 1 comes before axis 3"),
        ("flatten_param { axis: 4 }", "axis 4 doesn't exist"),
        ("flatten_param { end_axis: 4 }", "end_axis 4 doesn't exist"),
    ],
)
def test_flatten_refuses_wrong_settings(settings, message):
    with pytest.raises(ShapeError, match=message):
        layer_of("Flatten", settings, (2, 6, 3, 5))
