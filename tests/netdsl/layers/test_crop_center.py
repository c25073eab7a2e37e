"""CropCenter compared with slices."""

from __future__ import annotations

import pytest
import torch

from netdsl.errors import NetError, ShapeError
from tests.nets import layer_of


def crop(sizes: list[int], *shape: int) -> torch.Tensor:
    text = f'bottom: "x" top: "y" crop_center_param {{ crop_size: {sizes} }}'
    layer = layer_of("CropCenter", text, shape)
    values = torch.arange(float(torch.Size(shape).numel())).reshape(shape)
    top = layer(values)
    assert layer.top_shapes([shape]) == [tuple(top.shape)]
    return top


def test_both_ends_of_each_axis_are_removed() -> None:
    values = torch.arange(2.0 * 3 * 6 * 7).reshape(2, 3, 6, 7)
    assert torch.equal(crop([0, 0, 2, 2], 2, 3, 6, 7), values[:, :, 2:-2, 2:-2])
    assert torch.equal(crop([0, 1, 0, 3], 2, 3, 6, 7), values[:, 1:-1, :, 3:-3])


def test_each_axis_needs_a_size_that_leaves_something() -> None:
    with pytest.raises(NetError, match="there are 2 crop_size for 4 axes; give one for each"):
        crop([1, 1], 1, 3, 6, 6)
    with pytest.raises(ShapeError, match="crop_size 3 leaves nothing of axis 2, whose length is 6; lower it"):
        crop([0, 0, 3, 2], 1, 3, 6, 6)
