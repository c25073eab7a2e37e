"""RegionLoss compared with the loops over boxes and truths of two forks."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netdsl.errors import NetError, ShapeError
from netdsl.layers.region_loss import RegionLoss
from tests.nets import layer_of

SIDE, BOXES, CLASSES, ITEMS = 4, 3, 2, 3
BIASES = [1.0, 1.5, 2.5, 2.0, 0.7, 3.0]
SHAPE = (ITEMS, BOXES * (5 + CLASSES), SIDE, SIDE)
USUAL = f"""side: {SIDE} num_class: {CLASSES} num: {BOXES} thresh: 0.3 object_scale: 5 noobject_scale: 0.7
    class_scale: 1.5 coord_scale: 2 """ + " ".join(f"biases: {each}" for each in BIASES)


def region_loss(settings, label_shape, shape=SHAPE) -> RegionLoss:
    return layer_of("RegionLoss", f"region_loss_param {{ {USUAL} {settings} }}", shape, label_shape)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def iou(a, b):
    width = min(a[0] + a[2] / 2, b[0] + b[2] / 2) - max(a[0] - a[2] / 2, b[0] - b[2] / 2)
    height = min(a[1] + a[3] / 2, b[1] + b[3] / 2) - max(a[1] - a[3] / 2, b[1] - b[3] / 2)
    if width < 0 or height < 0:
        return 0
    return width * height / (a[2] * a[3] + b[2] * b[3] - width * height)


def box_at(x, n, i, j):
    width, height = np.exp(x[2]) * BIASES[2 * n] / SIDE, np.exp(x[3]) * BIASES[2 * n + 1] / SIDE
    return (i + sigmoid(x[0])) / SIDE, (j + sigmoid(x[1])) / SIDE, width, height


def naive(x, items, *, intel, rescore=True, match=True):
    """Compute the gradient. `items` contains rows of class and box for each item."""
    x = x.reshape(ITEMS, BOXES, 5 + CLASSES, SIDE, SIDE)
    back = np.zeros_like(x)
    for b, truths in enumerate(items):
        for n, j, i in np.ndindex(BOXES, SIDE, SIDE):
            best = max((iou(box_at(x[b, n, :, j, i], n, i, j), truth[1:]) for truth in truths), default=0)
            p = sigmoid(x[b, n, 4, j, i])
            back[b, n, 4, j, i] = 0 if best > 0.3 else 0.7 * p * p * (1 - p)
        for label, *truth in truths:
            i, j = int(truth[0] * SIDE), int(truth[1] * SIDE)
            sizes = [box_at(x[b, n, :, j, i], n, i, j)[2:] for n in range(BOXES)]
            if match:
                sizes = [(BIASES[2 * n] / SIDE, BIASES[2 * n + 1] / SIDE) for n in range(BOXES)]
            fits = [iou((0, 0, *size), (0, 0, *truth[2:])) for size in sizes]
            n = fits.index(max(fits))
            back[b, n, :, j, i] = towards(x[b, n, :, j, i], n, i, j, int(label), truth, intel=intel, rescore=rescore)
    return back.reshape(SHAPE)


def towards(x, n, i, j, label, truth, *, intel, rescore):
    missing = [
        truth[0] * SIDE - i - sigmoid(x[0]),
        truth[1] * SIDE - j - sigmoid(x[1]),
        np.log(truth[2] * SIDE / BIASES[2 * n]) - x[2],
        np.log(truth[3] * SIDE / BIASES[2 * n + 1]) - x[3],
    ]
    if intel:
        missing = [min(max(each, -1), 1) for each in missing]
    scale = 2 if intel or rescore else 2 * (2 - truth[2] * truth[3])
    through = [sigmoid(x[0]) * (1 - sigmoid(x[0])), sigmoid(x[1]) * (1 - sigmoid(x[1])), 1, 1]
    back = [-scale * a * b for a, b in zip(missing, through, strict=True)]
    p = sigmoid(x[4])
    if intel:
        back.append(-5 * 2 * (1 - p) ** 3 * p * (1 - p))
    else:
        goal = iou(box_at(x, n, i, j), truth) if rescore else 1
        back.append(-5 * (goal - p) * p * (1 - p))
    probabilities = np.exp(x[5:]) / np.exp(x[5:]).sum()
    return np.array([*back, *(1.5 * (q - (c == label)) for c, q in enumerate(probabilities))])


# The first item has two truths for one box, the second none, and the third a list that ends at a zero in another place.
TRUTHS = [
    [(0, 0.3, 0.6, 0.25, 0.4), (1, 0.8, 0.2, 0.6, 0.55), (1, 0.31, 0.61, 0.26, 0.41)],
    [],
    [(1, 0.55, 0.05, 0.2, 0.7)],
]


def five(items):
    label = np.zeros((ITEMS, 1, 6, 5))
    for b, truths in enumerate(items):
        for t, truth in enumerate(truths):
            label[b, 0, t] = truth
    label[2, 0, 2] = (0, 0.1, 0.1, 0.5, 0.5)  # follows a zero, so it isn't read
    return label


def eight(items):
    rows = [
        (b, label + 1, 0, x - w / 2, y - h / 2, x + w / 2, y + h / 2, 0)
        for b, truths in enumerate(items)
        for label, x, y, w, h in truths
    ]
    return np.array([*rows, (-1,) * 8]).reshape(1, 1, -1, 8)


def check(layer, label, wanted, divisor):
    x = torch.from_numpy(some()).requires_grad_()
    loss = layer(x, torch.from_numpy(label))
    assert loss.shape == layer.top_shapes([])[0] == ()
    assert loss.item() == pytest.approx((wanted**2).sum() / divisor)
    (3 * loss).backward()
    np.testing.assert_allclose(x.grad, 3 * wanted / ITEMS, rtol=1e-6, atol=1e-7)  # settings are float32


def some():
    return np.random.default_rng(2).normal(size=SHAPE)


@pytest.mark.parametrize("rescore", [True, False])
@pytest.mark.parametrize("match", [True, False])
def test_mobilenet_yolos_gradient_equals_loops(rescore, match):
    layer = region_loss(f"rescore: {int(rescore)} bias_match: {int(match)}", (ITEMS, 1, 6, 5))
    check(layer, five(TRUTHS), naive(some(), TRUTHS, intel=False, rescore=rescore, match=match), ITEMS)


@pytest.mark.parametrize("settings", ["", "rescore: 0"])
def test_intels_gradient_equals_loops(settings):
    check(region_loss(settings, (1, 1, 5, 8)), eight(TRUTHS), naive(some(), TRUTHS, intel=True), 1)


def test_images_without_truths_are_supported():
    label = np.zeros((ITEMS, 30))
    check(region_loss("", label.shape), label, naive(some(), [[], [], []], intel=False), ITEMS)
    label = np.full((1, 1, 1, 8), -1.0)
    check(region_loss("", label.shape), label, naive(some(), [[], [], []], intel=True), 1)


def test_wrong_settings_are_refused():
    with pytest.raises(NetError, match="6 biases"):
        region_loss("biases: 1", (ITEMS, 30))
    with pytest.raises(NetError, match="softmax_tree"):
        region_loss("softmax_tree: 'coco.tree'", (ITEMS, 30))
    with pytest.raises(ShapeError, match="square with 21 channels"):
        region_loss("", (ITEMS, 30), (ITEMS, 21, 4, 5))
    with pytest.raises(ShapeError, match="rows of 5 or 8"):
        region_loss("", (ITEMS, 7))
