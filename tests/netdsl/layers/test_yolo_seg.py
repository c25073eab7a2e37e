"""YoloSeg compared with a loop over pixels."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netdsl.errors import ShapeError
from netdsl.layers.yolo_seg import YoloSeg
from tests.nets import layer_of

SHAPE = (2, 3, 4, 5)


def yolo_seg(*shapes) -> YoloSeg:
    return layer_of("YoloSeg", "yolo_seg_param { object_scale: 0.2 }", *shapes)


@pytest.mark.parametrize("weighed", [True, False])
def test_values_equal_those_of_a_loop(weighed):
    draw = np.random.default_rng(1)
    x, label = draw.normal(size=SHAPE), draw.integers(0, 2, SHAPE).astype(float)
    counts = label.sum((2, 3))
    back = np.zeros(SHAPE)
    for n, c, h, w in np.ndindex(*SHAPE):
        scale = 0.2
        if weighed and label[n, c, h, w] > 0.5:
            scale *= 2 - counts[:, c].sum() / (20 - counts[:, c]).sum()
        back[n, c, h, w] = scale * (1 / (1 + np.exp(-x[n, c, h, w])) - label[n, c, h, w])
    bottoms = [torch.from_numpy(each) for each in ([x, label, counts] if weighed else [x, label])]
    bottoms[0].requires_grad_()
    loss = yolo_seg(*(tuple(each.shape) for each in bottoms))(*bottoms)
    loss.backward()
    assert loss.item() == pytest.approx((back**2).sum() / 2)
    np.testing.assert_allclose(bottoms[0].grad, back / 2)


def test_wrong_shapes_are_refused():
    with pytest.raises(ShapeError, match="the same shape"):
        yolo_seg(SHAPE, (2, 1, 4, 5))
    with pytest.raises(ShapeError, match="pixel counts"):
        yolo_seg(SHAPE, SHAPE, (2, 4))
