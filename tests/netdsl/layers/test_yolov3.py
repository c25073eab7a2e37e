"""Yolov3 compared with darknet's loops, in which each truth overwrites earlier ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.errors import NetError, ShapeError
from netdsl.layers._yolo import nearness, slope
from netdsl.layers.yolov3 import Yolov3
from tests.nets import layer_of

HEIGHT, WIDTH, CLASSES, ITEMS, CELL = 3, 4, 3, 2, 16
BIASES = [8.0, 10.0, 30.0, 16.0, 14.0, 40.0, 45.0, 44.0]
MASK = [1, 3, 2]
SHAPE = (ITEMS, 3 * (5 + CLASSES), HEIGHT, WIDTH)
USUAL = f"""num_class: {CLASSES} num: 3 thresh: 0.35 object_scale: 3 class_scale: 1.5 coord_scale: 2
    anchors_scale: {CELL} """ + " ".join([*(f"biases: {n}" for n in BIASES), *(f"mask: {n}" for n in MASK)])
# The truths: two in one cell that share an anchor, one that fits several anchors, one that fits none of the mask's, and
# one that is so flat that no anchor fits it by GIoU.
TRUTHS = [
    [(0, 0.3, 0.4, 0.45, 0.4), (2, 0.31, 0.45, 0.5, 0.35), (0, 0.33, 0.42, 0.46, 0.41)],
    [(1, 0.9, 0.9, 0.12, 0.2), (1, 0.6, 0.2, 0.7, 0.9), (0, 0.5, 0.5, 0.95, 0.02)],
]


def yolov3(settings="", shape=SHAPE, label=(ITEMS, 1, 6, 5)) -> Yolov3:
    text = f"yolov3_param {{ {USUAL} {settings} }}"
    return layer_of("Yolov3", text, shape, label)


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def ends(box):
    return [(box[k] - box[k + 2] / 2, box[k] + box[k + 2] / 2) for k in (0, 1)]


def measure(a, b, kind):
    """Return the similarity of two boxes."""
    (al, ar), (at, ab) = ends(a)
    (bl, br), (bt, bb) = ends(b)
    width, height = min(ar, br) - max(al, bl), min(ab, bb) - max(at, bt)
    shared = width * height if width > 0 and height > 0 else 0
    union = a[2] * a[3] + b[2] * b[3] - shared
    hull = max(ar, br) - min(al, bl), max(ab, bb) - min(at, bt)
    if kind == "GIOU":
        return shared / union - (hull[0] * hull[1] - union) / (hull[0] * hull[1])
    apart = ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) / (hull[0] ** 2 + hull[1] ** 2)
    if kind == "DIOU":
        return shared / union - apart**0.6
    if kind == "CIOU":
        form = 4 / math.pi**2 * (math.atan(b[2] / b[3]) - math.atan(a[2] / a[3])) ** 2
        return shared / union - apart - form / (1 - shared / union + form + 1e-6) * form
    return shared / union


def slopes(box, truth, kind):
    """Return the slopes with respect to x, y, width and height, next to each other as in darknet."""
    (left, right), (top, bottom) = ends(box)
    (tl, tr), (tt, tb) = ends(truth)
    iw, ih = min(right, tr) - max(left, tl), min(bottom, tb) - max(top, tt)
    inter = iw * ih
    union = box[2] * box[3] + truth[2] * truth[3] - inter
    cw, ch = max(right, tr) - min(left, tl), max(bottom, tb) - min(top, tt)
    width, height = right - left, bottom - top
    d_area = {"t": -width, "b": width, "l": -height, "r": height}
    d_inter = {
        "t": -iw if top > tt else 0, "b": iw if bottom < tb else 0,
        "l": -ih if left > tl else 0, "r": ih if right < tr else 0,
    }  # fmt: skip
    d_hull = {
        "t": -cw if top < tt else 0, "b": cw if bottom > tb else 0,
        "l": -ch if left < tl else 0, "r": ch if right > tr else 0,
    }  # fmt: skip
    d_union = {side: d_area[side] - d_inter[side] for side in "tblr"}
    p = {side: (union * d_inter[side] - inter * d_union[side]) / union**2 for side in "tblr"}
    if kind == "GIOU":
        around = cw * ch
        term = {side: (around * d_union[side] - union * d_hull[side]) / around**2 for side in "tblr"}
        p = {side: term[side] + (p[side] if iw > 0 and ih > 0 else 0) for side in "tblr"}
    step = [p["l"] + p["r"], p["t"] + p["b"], p["r"] - p["l"], p["b"] - p["t"]]
    if kind in ("IOU", "GIOU"):
        return step
    if iw <= 0 or ih <= 0:
        step = [0, 0, 0, 0]
    c = cw**2 + ch**2
    s = (box[0] - truth[0]) ** 2 + (box[1] - truth[1]) ** 2
    step[0] += (2 * (truth[0] - box[0]) * c - 2 * cw * ((right > tr) - (left < tl)) * s) / c**2
    step[1] += (2 * (truth[1] - box[1]) * c - 2 * ch * ((bottom > tb) - (top < tt)) * s) / c**2
    step[2] += 2 * cw * (0.5 * (right > tr) + 0.5 * (left < tl)) * s / c**2
    step[3] += 2 * ch * (0.5 * (bottom > tb) + 0.5 * (top < tt)) * s / c**2
    if kind == "CIOU":
        angle = math.atan(truth[2] / truth[3]) - math.atan(box[2] / box[3])
        form = 4 / math.pi**2 * angle**2
        weight = form / (1 - inter / union + form + 1e-6)
        step[2] += weight * 8 / math.pi**2 * angle * box[3]
        step[3] -= weight * 8 / math.pi**2 * angle * box[2]
    return step


class Naive:
    """One pass over one batch."""

    def __init__(self, x, *, kind="MSE", focal=False, accumulate=True, smooth=0.1, fit=0.5, through=False):
        self.x = x.reshape(ITEMS, 3, 5 + CLASSES, HEIGHT, WIDTH)
        self.back, self.far = np.zeros_like(self.x), []
        self.kind, self.focal, self.accumulate, self.smooth, self.fit = kind, focal, accumulate, smooth, fit
        self.through = through
        for b, truths in enumerate(TRUTHS):
            for a, j, i in np.ndindex(3, HEIGHT, WIDTH):
                near = [measure(self.box(b, a, j, i), truth[1:], kind) for truth in truths]
                good = max(near) > 0.35
                self.back[b, a, 4, j, i] = 0 if good else sigmoid(self.x[b, a, 4, j, i])
            for label, *truth in truths:
                self.match(b, label, truth)

    def box(self, b, a, j, i):
        x, n = self.x[b, a, :, j, i], MASK[a]
        width, height = WIDTH * CELL, HEIGHT * CELL
        size = math.exp(x[2]) * BIASES[2 * n] / width, math.exp(x[3]) * BIASES[2 * n + 1] / height
        return (i + sigmoid(x[0])) / WIDTH, (j + sigmoid(x[1])) / HEIGHT, *size

    def match(self, b, label, truth):
        i, j = int(truth[0] * WIDTH), int(truth[1] * HEIGHT)
        fits = [
            measure(
                (0, 0, BIASES[2 * n] / (WIDTH * CELL), BIASES[2 * n + 1] / (HEIGHT * CELL)),
                (0, 0, *truth[2:]),
                self.kind,
            )
            for n in range(4)
        ]
        best = fits.index(max(fits)) if max(fits) > 0 else -1
        if best in MASK:
            best = MASK.index(best)
            self.write(b, best, j, i, label, truth)
        for n in range(4):
            if n in MASK and n != best and self.fit < 1 and fits[n] > self.fit:
                self.write(b, MASK.index(n), j, i, label, truth)

    def write(self, b, a, j, i, label, truth):
        x, back, box = self.x[b, a, :, j, i], self.back[b, a, :, j, i], self.box(b, a, j, i)
        if self.kind == "MSE":
            back[:4] = self.missing(x, a, j, i, truth)
        else:
            back[:4] *= self.accumulate
            step = slopes(box, truth, self.kind)
            step = [0.5 * step[0], 0.5 * step[1], 0.5 * step[2] * math.exp(x[2]), 0.5 * step[3] * math.exp(x[3])]
            back[:4] -= np.clip(step, -0.8, 0.8)
        self.far.append(1 - measure(box, truth, self.kind if self.kind in ("GIOU", "CIOU") else "DIOU"))
        back[4] = -(1 - sigmoid(x[4])) * (3 if self.through else 1)
        scores = [sigmoid(each) for each in x[5:]]
        if back[5 + label]:
            back[5 + label] = -1.5 * (1 - 0.5 * self.smooth - scores[label])
            return
        p = scores[label]
        for c in range(CLASSES):
            goal = (c == label) * (1 - self.smooth) + 0.5 * self.smooth
            back[5 + c] = -1.5 * (goal - scores[c])
            if self.focal:
                back[5 + c] = -1.5 * ((c == label) - scores[c]) * 0.5 * -(1 - p) * (2 * p * math.log(p) + p - 1)

    def missing(self, x, a, j, i, truth):
        n, scale = MASK[a], 2 * (2 - truth[2] * truth[3])
        width = math.log(truth[2] * WIDTH * CELL / BIASES[2 * n])
        height = math.log(truth[3] * HEIGHT * CELL / BIASES[2 * n + 1])
        goals = [
            truth[0] * WIDTH - i - sigmoid(x[0]),
            truth[1] * HEIGHT - j - sigmoid(x[1]),
            width - x[2],
            height - x[3],
        ]
        return [-scale * goal for goal in goals]

    def loss(self):
        if self.kind == "MSE":
            return (self.back**2).sum() / ITEMS
        return ((self.back[:, :, 4:] ** 2).sum() + 0.5 * sum(self.far) / len(self.far)) / ITEMS

    def gradient(self):
        gradient = self.back.copy()
        if self.through:
            score = 1 / (1 + np.exp(-self.x))
            if self.kind != "MSE":
                score[:, :, :2] = self.x[:, :, :2]
            through = score * (1 - score)
            through[:, :, 2:4] = 1
            gradient *= through
        return gradient.reshape(SHAPE) / ITEMS


def label():
    rows = np.zeros((ITEMS, 1, 6, 5))
    for b, truths in enumerate(TRUTHS):
        rows[b, 0, : len(truths)] = truths
    return torch.from_numpy(rows)


def some():
    return np.random.default_rng(3).normal(scale=0.7, size=SHAPE)


@pytest.mark.parametrize("kind", ["MSE", "IOU", "GIOU", "DIOU", "CIOU"])
@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ("", {}),
        ("accumulate: false use_focal_loss: true", {"accumulate": False, "focal": True}),
        ("label_smooth_eps: 0 iou_thresh: 1", {"smooth": 0, "fit": 1}),
        ("iou_thresh: 0.1 use_logic_gradient: true", {"fit": 0.1, "through": True}),
    ],
)
def test_values_equal_those_of_loops(kind, settings, options):
    layer = yolov3(f"iou_loss: {kind} iou_normalizer: 0.5 max_delta: 0.8 {settings}")
    naive, x = Naive(some(), kind=kind, **options), torch.from_numpy(some()).requires_grad_()
    loss = layer(x, label())
    assert loss.item() == pytest.approx(naive.loss())
    (2 * loss).backward()
    np.testing.assert_allclose(x.grad, 2 * naive.gradient(), rtol=1e-6, atol=1e-7)  # settings are float32


@pytest.mark.parametrize("kind", ["IOU", "GIOU", "DIOU", "CIOU"])
def test_boxes_near_and_far(kind):
    draw = np.random.default_rng(4)
    one, other = (np.concatenate([draw.random((60, 2)), draw.uniform(0.1, 0.5, (60, 2))], 1) for _ in range(2))
    one, other = one.tolist(), other.tolist()
    meet = [measure(a, b, "IOU") > 0 for a, b in zip(one, other, strict=True)]
    assert 10 < sum(meet) < 50
    number = pb.Yolov3Parameter.IOU_LOSS.Value(kind)
    found = nearness(torch.tensor(one, dtype=torch.double), torch.tensor(other, dtype=torch.double), number)
    np.testing.assert_allclose(found, [measure(a, b, kind) for a, b in zip(one, other, strict=True)])
    found = slope(torch.tensor(one, dtype=torch.double), torch.tensor(other, dtype=torch.double), number)
    np.testing.assert_allclose(found, [slopes(a, b, kind) for a, b in zip(one, other, strict=True)], rtol=1e-6)


def test_images_without_truths_are_supported():
    x = torch.from_numpy(some())
    loss = yolov3("iou_loss: CIOU")(x, torch.zeros(ITEMS, 1, 6, 5, dtype=torch.double))
    assert loss.item() == pytest.approx((x.view(ITEMS, 3, 8, -1)[:, :, 4].sigmoid() ** 2).sum().item() / ITEMS)


def test_wrong_settings_are_refused():
    with pytest.raises(NetError, match="mask must name the 3"):
        Yolov3(
            from_text("top: 't' yolov3_param { num: 3 biases: 1 biases: 2 mask: 0 }", pb.LayerParameter),
            [SHAPE, (2, 5)],
        )
    with pytest.raises(ShapeError, match="24 channels"):
        yolov3(shape=(2, 25, 3, 4))
    with pytest.raises(ShapeError, match="rows of 5"):
        yolov3(label=(2, 8))
