"""AssistedExcitation compared with a loop over pixels."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from netdsl.errors import ShapeError
from netdsl.layers.assisted_excitation import AssistedExcitation
from tests.nets import layer_of

SHAPE = (2, 3, 4, 6)


def excitation(*shapes) -> AssistedExcitation:
    return layer_of("AssistedExcitation", "", *(shapes or [SHAPE, (2, 1, 5, 5), (2, 4, 6)]))


def bounded(value, least, most):
    return min(max(value, least), most)


def test_values_equal_those_of_a_loop():
    draw = np.random.default_rng(1)
    x, mean, label = draw.normal(size=SHAPE), draw.normal(size=(2, 4, 6)), np.zeros((2, 1, 5, 5))
    label[0, 0, 0] = (1, 0.4, 0.5, 0.2, 0.4)
    label[0, 0, 1] = (2, 0.05, 0.9, 0.3, 0.9)  # extends beyond the border
    label[0, 0, 3] = (2, 0.9, 0.1, 0.3, 0.9)  # follows a zero, so it isn't read
    label[1, 0, 0] = (0, 0.503, 0.7, 0.001, 0.02)  # smaller than a pixel
    layer = excitation()
    layer.iteration, layer.max_iteration = 30, 100
    wanted = x.copy()
    for n, boxes in enumerate([label[0, 0, :2], label[1, 0, :1]]):
        inside = set()
        for _, cx, cy, w, h in boxes:
            left, top = bounded(int((cx - w / 2) * 6), 0, 5), bounded(int((cy - h / 2) * 4), 0, 3)
            right = bounded(int((cx + w / 2) * 6 + 0.95), left + 1, 6)
            bottom = bounded(int((cy + h / 2) * 4 + 0.95), top + 1, 4)
            inside |= {(i, j) for i in range(top, bottom) for j in range(left, right)}
        for i, j in inside:
            wanted[n, :, i, j] += math.cos(0.3 / 0.75 * math.pi / 2) * mean[n, i, j]
    assert 3 < (wanted != x).sum() < x.size
    top = layer(*map(torch.from_numpy, (x, label, mean)))
    np.testing.assert_allclose(top, wanted)


@pytest.mark.parametrize(("iteration", "alpha"), [(0, 1), (75, 0), (100, 0)])
def test_the_excitation_ends_before_training(iteration, alpha):
    layer = excitation()
    layer.iteration, layer.max_iteration = iteration, 100
    assert layer.alpha() == pytest.approx(alpha, abs=1e-9)


def test_wrong_shapes_are_refused():
    with pytest.raises(ShapeError, match="mean over channels"):
        excitation(SHAPE, (2, 1, 5, 5), (2, 4, 5))
    with pytest.raises(ShapeError, match="rows of 5"):
        excitation(SHAPE, (2, 1, 5, 8), (2, 4, 6))
