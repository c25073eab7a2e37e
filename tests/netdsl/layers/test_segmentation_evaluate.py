"""SegmentationEvaluate compared with counted pixels."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netdsl.errors import NetError, ShapeError
from netdsl.layers.segmentation_evaluate import SegmentationEvaluate
from tests.nets import layer_of


def evaluation(*shapes, settings="num_classes: 3 threshold: 0.3") -> SegmentationEvaluate:
    return layer_of("SegmentationEvaluate", f"segmentation_evaluate_param {{ {settings} }}", *shapes)


def test_scores_equal_counts_of_pixels():
    draw = np.random.default_rng(1)
    x, label = draw.random((2, 3, 4, 5)), draw.integers(0, 2, (2, 3, 4, 5)).astype(float)
    label[0, 1] = 0
    wanted = []
    for c in range(3):
        pixels = [(x[0, c, h, w] > 0.3, label[0, c, h, w] > 0.3) for h, w in np.ndindex(4, 5)]
        both = sum(found and true for found, true in pixels)
        wanted.append(both / sum(found or true for found, true in pixels))
    layer = evaluation(x.shape, label.shape)
    top = layer(torch.from_numpy(x), torch.from_numpy(label))
    assert wanted[1] == 0
    np.testing.assert_allclose(top.flatten(), wanted)
    assert top.shape == layer.top_shapes([x.shape, label.shape])[0] == (1, 1, 1, 3)


def test_scores_of_another_size_are_resized():
    x, label = torch.zeros(1, 3, 2, 2), torch.zeros(1, 3, 4, 4)
    x[0, 0, 0, 0] = 1  # fades over two pixels: 1, 0.75 and 0.25 of it
    label[0, 0, :2, :3] = 1
    label[0, 2, 0, 0] = 1
    top = evaluation(x.shape, label.shape)(x, label)
    # these are above 0.3: (0,0) = 1, (0,1) = (1,0) = 0.75 and (1,1) = 0.5625
    assert top.flatten().tolist() == pytest.approx([4 / 6, -1, 0])


def test_wrong_settings_are_refused():
    with pytest.raises(NetError, match="num_classes"):
        evaluation((1, 3, 2, 2), (1, 3, 2, 2), settings="")
    with pytest.raises(ShapeError, match="equal channels"):
        evaluation((1, 3, 2, 2), (1, 1, 2, 2))
