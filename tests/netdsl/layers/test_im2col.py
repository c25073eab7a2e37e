"""Im2col compared with a loop over its channels."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netdsl.errors import ShapeError
from tests.nets import layer_of


def im2col(settings, shape):
    return layer_of("Im2col", f"convolution_param {{ {settings} }}", shape)


@pytest.mark.parametrize(
    ("settings", "shape", "kernel", "stride", "pad", "dilation"),
    [
        ("kernel_size: [2, 3] stride: [2, 1] pad: [1, 0]", (2, 3, 5, 6), [2, 3], [2, 1], [1, 0], [1, 1]),
        ("kernel_size: 3 dilation: 2 pad: 1", (1, 2, 5, 6), [3, 3], [1, 1], [1, 1], [2, 2]),
        ("kernel_size: 2 stride: 3", (2, 3, 8), [2], [3], [0], [1]),
        ("kernel_size: [1, 2, 3]", (1, 2, 3, 4, 5), [1, 2, 3], [1] * 3, [0] * 3, [1] * 3),
    ],
)
def test_channels_are_places_in_the_window(settings, shape, kernel, stride, pad, dilation):
    layer = im2col(settings, shape)
    x = torch.randn(shape)
    padded = np.pad(x.numpy(), [(0, 0), (0, 0), *((each, each) for each in pad)])
    sizes = [(size - hole * (reach - 1) - 1) // step + 1
             for size, reach, step, hole in zip(padded.shape[2:], kernel, stride, dilation, strict=True)]  # fmt: skip
    rows = []
    for channel, *tap in np.ndindex(shape[1], *kernel):
        places = [slice(at * hole, at * hole + step * size, step)
                  for at, hole, step, size in zip(tap, dilation, stride, sizes, strict=True)]  # fmt: skip
        rows.append(padded[(slice(None), channel, *places)][(..., *(slice(size) for size in sizes))])
    wanted = np.stack(rows, 1)
    assert layer.top_shapes([shape]) == [wanted.shape]
    np.testing.assert_array_equal(layer(x), wanted)


def test_axes_before_the_channels_stay():
    x = torch.randn(2, 3, 4, 6, 5)
    torch.testing.assert_close(
        im2col("axis: 2 kernel_size: 3", x.shape)(x).flatten(0, 1),
        im2col("kernel_size: 3", (6, 4, 6, 5))(x.flatten(0, 1)),
    )


def test_a_bottom_without_places_is_refused():
    with pytest.raises(ShapeError, match="no axis comes after"):
        im2col("axis: 3 kernel_size: 1", (2, 3, 4, 5))
