"""SegAccuracy: three numbers about pixels."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netdsl.errors import NetError, ShapeError
from tests.nets import layer_of

DRAW = np.random.default_rng(6)


def make(settings, *shapes):
    return layer_of("SegAccuracy", f"seg_accuracy_param {{ {settings} }}", *shapes)


def naive(counts):
    classes = len(counts)
    recalls = [counts[c, c] / counts[c].sum() for c in range(classes) if counts[c].sum()]
    overlaps = []
    for c in range(classes):
        either = counts[c].sum() + counts[:, c].sum() - counts[c, c]
        overlaps.append(counts[c, c] / either if either else 1)
    return [np.trace(counts) / counts.sum(), np.mean(recalls), np.mean(overlaps)]


def draw():
    """Draw labels and scores. The last of five classes is never a label and never predicted, and label 7 doesn't
    count."""
    x = torch.from_numpy(DRAW.normal(size=(2, 5, 3, 4)))
    x[:, 4] = -9
    label = torch.from_numpy(DRAW.choice([0, 1, 2, 3, 7], size=(2, 1, 3, 4))).double()
    counts = np.zeros((5, 5))
    for n, h, w in np.ndindex(2, 3, 4):
        if label[n, 0, h, w] != 7:
            counts[int(label[n, 0, h, w]), int(x[n, :, h, w].argmax())] += 1
    return x, label, counts


def test_accuracy_recall_and_overlap():
    layer = make("ignore_label: 7", (2, 5, 3, 4), (2, 1, 3, 4))
    for _ in range(2):
        x, label, counts = draw()
        np.testing.assert_allclose(layer(x, label).flatten(), naive(counts))
    assert layer.top_shapes([x.shape, label.shape]) == [(1, 1, 1, 3)]


def test_without_reset_batches_add_up():
    layer = make("ignore_label: 7 reset: false", (2, 5, 3, 4), (2, 1, 3, 4))
    (x, label, counts), (y, other, more) = draw(), draw()
    layer(x, label)
    np.testing.assert_allclose(layer(y, other).flatten(), naive(counts + more))


def test_the_last_class_wins_among_equal_values():
    layer = make("", (1, 3, 1, 1), (1, 1, 1, 1))
    assert layer(torch.zeros(1, 3, 1, 1), torch.full((1, 1, 1, 1), 2.0)).flatten().tolist() == [1, 1, 1]


def test_without_labels_there_is_no_accuracy():
    layer = make("ignore_label: 0", (1, 3, 1, 1), (1, 1, 1, 1))
    assert layer(torch.zeros(1, 3, 1, 1), torch.zeros(1, 1, 1, 1)).flatten().tolist() == [0, 0, 1]


def test_labels_must_be_classes_and_cover_the_image():
    layer = make("", (1, 3, 1, 1), (1, 1, 1, 1))
    with pytest.raises(NetError, match="label 255 isn't among the 3 classes; set it as ignore_label"):
        layer(torch.zeros(1, 3, 1, 1), torch.full((1, 1, 1, 1), 255.0))
    with pytest.raises(ShapeError, match="one label for each pixel"):
        make("", (1, 3, 4, 5), (1, 1, 5, 4))
