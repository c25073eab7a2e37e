"""Nms: the peaks of maps."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netdsl.errors import ShapeError
from tests.nets import layer_of


def make(settings, shape):
    return layer_of("Nms", f"nms_param {{ {settings} }}", shape)


def peaks(image, threshold, most):
    """Find peaks with a loop over pixels."""
    height, width = image.shape
    top, count = np.zeros((most + 1, 3)), 0
    for y, x in np.ndindex(height - 2, width - 2):
        around = image[y : y + 3, x : x + 3].flatten().tolist()
        score = around.pop(4)
        if score <= threshold or score <= max(around):
            continue
        count += 1
        if count > most:
            continue
        total, row, column = 0.0, 0.0, 0.0
        for v in range(max(y + 1 - 3, 1), min(y + 1 + 4, height, width)):
            for u in range(max(x + 1 - 3, 1), min(x + 1 + 4, width)):
                weight = max(image[v, u], 0)
                total, row, column = total + weight, row + v * weight, column + u * weight
        top[count] = column / total, row / total, score
    top[0, 0] = count
    return top


@pytest.mark.parametrize("shape", [(2, 3, 9, 12), (2, 3, 12, 8)])
def test_peaks_are_counted_and_placed(shape):
    x = torch.from_numpy(np.random.default_rng(5).normal(size=shape))
    top = make("threshold: 0.2 num_parts: 2 max_peaks: 3", shape)(x)
    assert top.shape == (2, 2, 4, 3)
    for n, c in np.ndindex(2, 2):
        np.testing.assert_allclose(top[n, c], peaks(x[n, c].numpy(), 0.2, 3))
    assert top[..., 0, 0].max() > 3  # some peaks are counted without being listed


def test_borders_and_equal_neighbors_are_not_peaks():
    x = torch.zeros(1, 1, 6, 7)
    x[0, 0, 0, 3], x[0, 0, 3, 6], x[0, 0, 3, 2], x[0, 0, 3, 3] = 9, 9, 5, 5
    assert not make("num_parts: 1", x.shape)(x).any()


def test_a_part_without_a_map_has_no_peaks():
    x = torch.zeros(1, 1, 6, 7)
    x[0, 0, 2, 3] = 1
    layer = make("num_parts: 3 max_peaks: 2", x.shape)
    assert layer(x)[0, :, 0, 0].tolist() == [1, 0, 0]
    assert layer.top_shapes([x.shape]) == [(1, 3, 3, 3)]


def test_images_are_needed():
    with pytest.raises(ShapeError, match="images with 4 axes, but it has 3"):
        make("", (2, 3, 4))
