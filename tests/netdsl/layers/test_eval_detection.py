"""EvalDetection compared with loops over detections."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netdsl.errors import NetError, ShapeError
from netdsl.layers.eval_detection import EvalDetection
from tests.nets import layer_of

SIDE, BOXES, CLASSES, ITEMS = 4, 2, 3, 2
BIASES = [1.0, 2.0, 2.5, 1.5]
SHAPE = (ITEMS, BOXES * (5 + CLASSES), SIDE, SIDE)
# item, label from 1, instance, left, top, right, bottom, difficult
TRUTHS = np.array(
    [
        [0, 1, 0, 0.1, 0.1, 0.5, 0.6, 0],
        [0, 1, 1, 0.3, 0.2, 0.9, 0.7, 0],
        [1, 3, 0, 0.2, 0.4, 0.6, 0.9, 0],
        [-1, 2, 0, 0.0, 0.0, 1.0, 1.0, 0],
        [1, 2, 0, 0.5, 0.0, 0.9, 0.5, 0],
    ]
)


def evaluation(settings, shape=SHAPE, label=(1, 1, 5, 8)) -> EvalDetection:
    text = f"""eval_detection_param {{ side: {SIDE} num_class: {CLASSES} num_object: {BOXES} threshold: 0.25
        {" ".join(f"biases: {each}" for each in BIASES)} {settings} }}"""
    return layer_of("EvalDetection", text, shape, label)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def iou(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    shared = width * height if width > 0 and height > 0 else 0
    return shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared)


def detections(x, kind, nms):
    """Return (label, score, corners) of one item's detections, best first."""
    found = []
    for n, j, i in np.ndindex(BOXES, SIDE, SIDE):
        raw = x.reshape(BOXES, 5 + CLASSES, SIDE, SIDE)[n, :, j, i]
        classes = np.exp(raw[5:]) / np.exp(raw[5:]).sum()
        score = {"OBJ": sigmoid(raw[4]), "PROB": classes.max(), "MULTIPLY": sigmoid(raw[4]) * classes.max()}[kind]
        cx, cy = (i + sigmoid(raw[0])) / SIDE, (j + sigmoid(raw[1])) / SIDE
        w, h = np.exp(raw[2]) * BIASES[2 * n] / SIDE, np.exp(raw[3]) * BIASES[2 * n + 1] / SIDE
        found.append((int(classes.argmax()), score, (cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2)))
    kept = []
    for each in sorted(found, key=lambda each: -each[1]):
        if all(iou(each[2], better[2]) < nms for better in kept):
            kept.append(each)
    return [each for each in kept if each[1] >= 0.005]


def naive(x, kind, nms):
    top = np.zeros((ITEMS, CLASSES + SIDE * SIDE * BOXES * 4))
    for item in range(ITEMS):
        truths = [(int(row[1]) - 1, row[3:7]) for row in TRUTHS if row[0] == item]
        for label, _ in truths:
            top[item, label] += 1
        at, taken = CLASSES, set()
        for label, score, box in sorted(detections(x[item], kind, nms), key=lambda each: each[0]):
            overlaps = [iou(box, other) if label == wanted else -1 for wanted, other in truths]
            best = int(np.argmax(overlaps))
            known = label in {wanted for wanted, _ in truths}
            right = known and overlaps[best] >= 0.25 and best not in taken
            wrong = not known or (overlaps[best] >= 0.25 and best in taken)
            if right:
                taken.add(best)
            top[item, at : at + 4] = label, score, right, wrong
            at += 4
    return top


@pytest.mark.parametrize("kind", ["OBJ", "PROB", "MULTIPLY"])
@pytest.mark.parametrize("nms", [0.3, 0.7])
def test_values_equal_those_of_loops(kind, nms):
    x = np.random.default_rng(1).normal(size=SHAPE)
    x.reshape(ITEMS, BOXES, -1, SIDE, SIDE)[1, 0, 4] = -9  # too low to count
    layer = evaluation(f"score_type: {kind} nms: {nms}")
    top = layer(torch.from_numpy(x), torch.from_numpy(TRUTHS.reshape(1, 1, 5, 8)))
    assert tuple(top.shape) == layer.top_shapes([SHAPE])[0]
    wanted = naive(x, kind, nms)
    rows = wanted[:, CLASSES:].reshape(-1, 4)
    assert rows[:, 2].any()
    assert rows[:, 3].any()
    np.testing.assert_allclose(top, wanted, rtol=1e-6)


def test_evaluated_detections_have_labels_from_1():
    x = torch.from_numpy(np.random.default_rng(1).normal(size=SHAPE))
    layer = evaluation("nms: 0.5")
    top = layer(x, torch.from_numpy(TRUTHS.reshape(1, 1, 5, 8))).numpy()
    judged = layer.judged(top)
    assert judged.objects == {1: 2, 2: 1, 3: 1}
    rows = top[:, CLASSES:].reshape(-1, 4)
    for label in (1, 2, 3):
        own = rows[rows[:, 0] == label - 1]
        assert judged.right[judged.label == label].sum() == own[:, 2].sum()
        assert judged.wrong[judged.label == label].sum() == own[:, 3].sum()
        assert judged.score[(judged.label == label) & judged.right].tolist() == own[own[:, 2] == 1][:, 1].tolist()


def test_no_truths_and_no_suppression():
    x, label = torch.rand(SHAPE), torch.full((1, 1, 1, 8), -1.0)
    assert not evaluation("")(x, label).any()
    rows = evaluation("nms: 0.5", label=(1, 1, 1, 8))(x, label)[:, CLASSES:].view(ITEMS, -1, 4)
    assert not rows[..., 2].any()
    assert torch.equal(rows[..., 3] == 1, rows[..., 1] > 0)


def test_wrong_settings_are_refused():
    with pytest.raises(NetError, match="4 biases"):
        evaluation("biases: 2")
    with pytest.raises(ShapeError, match="items must have shape"):
        evaluation("", (2, 16, 4, 5))
    with pytest.raises(ShapeError, match="rows of 8"):
        evaluation("", label=(2, 30, 5))
