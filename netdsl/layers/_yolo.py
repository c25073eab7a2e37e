"""The shared code of YOLO's layers: boxes, overlaps, the truths in a label, and losses with a given gradient.

The last axis of a box tensor is (x, y, width, height): the center and the size as fractions of the image.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import OnnxGraph
from netdsl.layer.onnx_boxes import corners_onnx, suppressed_onnx
from netdsl.layer.onnx_form import part, reshaped, transposed
from netdsl.layers._boxes import best_first, detections_or_none, overlaps, picked, suppressed
from netdsl.layers._constants import constants

Kind = pb.Yolov3Parameter.IOU_LOSS
GIOU, DIOU, CIOU = pb.Yolov3Parameter.GIOU, pb.Yolov3Parameter.DIOU, pb.Yolov3Parameter.CIOU


def per_anchor(x: Tensor, count: int) -> Tensor:
    """Return predictions as (N, A, K, H, W). The anchors' values follow each other in the channels."""
    return x.reshape(len(x), count, -1, *x.shape[2:])


def boxes(centers: Tensor, sizes: Tensor, anchors: Tensor) -> Tensor:
    """Return the boxes of all cells as (N, A, H, W, 4).

    `centers` are relative to the cells and `sizes` are logarithms, both (N, A, 2, H, W). `anchors` is (A, 2).
    """
    height, width = centers.shape[-2:]
    x = (centers[:, :, 0] + torch.arange(width, device=centers.device)) / width
    y = (centers[:, :, 1] + torch.arange(height, device=centers.device)[:, None]) / height
    w, h = (sizes.exp() * anchors[:, :, None, None]).unbind(2)
    return torch.stack([x, y, w, h], -1)


def corners(box: Tensor) -> Tensor:
    """Return boxes as left, top, right and bottom."""
    halves = box[..., 2:] / 2
    return torch.cat((box[..., :2] - halves, box[..., :2] + halves), -1)


def from_corners(box: Tensor) -> Tensor:
    """Return boxes given by two corners as center and size."""
    return torch.cat(((box[..., :2] + box[..., 2:]) / 2, box[..., 2:] - box[..., :2]), -1)


def iou(one: Tensor, other: Tensor) -> Tensor:
    """Return the intersection over union of each pair of boxes."""
    return overlaps(corners(one), corners(other))


def pairs(values: Sequence[float], like: Tensor) -> Tensor:
    """Return widths and heights of anchors as (A, 2)."""
    return constants(values, like).view(-1, 2)


def until_zero(values: Tensor) -> Tensor:
    """Return which entries of the last axis come before its first zero, which ends a label."""
    return (values != 0).cumprod(-1).bool()


def cropped(truths: Tensor, used: Tensor) -> Tensor:
    """Return truths (N, T, 5) without the columns that no item uses. At least one column is kept."""
    return truths[:, : max(int(used.sum(1).max()), 1)]


def concentric(sizes: Tensor) -> Tensor:
    """Return boxes of these sizes around the same center, so that an overlap depends only on the sizes."""
    return torch.cat([torch.zeros_like(sizes), sizes], -1)


def cells(truths: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
    """Return the row and column of the cell that contains each box's center."""
    row = (truths[..., 1] * height).long().clamp(0, height - 1)
    column = (truths[..., 0] * width).long().clamp(0, width - 1)
    return row, column


def newest(keys: Tensor, count: int) -> Tensor:
    """Return whether each entry is the last one with its key. Keys are below `count`."""
    order = torch.arange(len(keys), device=keys.device)
    last = order.new_full((count,), -1).scatter_reduce(0, keys, order, "amax")
    return last[keys] == order


def survivors(boxes: Tensor, scores: Tensor, item: Tensor, threshold: float) -> Tensor:
    """Return the indices of the boxes that survive non-maximum suppression within their items.

    They are ordered by item and falling score. Caffe's rule: a box is also dropped if its overlap equals the threshold.
    """
    below = float(np.nextafter(np.float32(threshold), np.float32(-1)))
    order, _ = best_first(item, scores)
    return order[suppressed(corners(boxes[order]), item[order], below)]


def rows(boxes: Tensor, scores: Tensor, labels: Tensor, detected: Tensor, threshold: float) -> Tensor:
    """Return item, label, score, left, top, right and bottom of each detection: (1, 1, count, 7).

    Boxes are (N, K, 4) and the other tensors (N, K). Without any detection, each item gets a row of its number and -1.
    """
    item = detected.nonzero()[:, 0]
    kept = survivors(boxes[detected], scores[detected], item, threshold)
    if not len(kept):
        empty = boxes.new_full((1, 1, len(boxes), 7), -1)
        empty[..., 0] = torch.arange(len(boxes), device=boxes.device)
        return empty
    columns = torch.stack(
        (item[kept].to(boxes.dtype), labels[detected][kept].to(boxes.dtype), scores[detected][kept]), 1
    )
    return torch.cat((columns, corners(boxes[detected][kept])), 1)[None, None]


def grid_onnx(g: OnnxGraph, grid: str, anchors: NDArray[np.float64], step: int = 1) -> tuple[str, str]:
    """Write predictions (N, A, K, H, W) and the corners of their boxes (N, A, H, W, 4) in ONNX operators."""
    height, width, count = g.length(grid, 2), g.length(grid, 3), len(anchors)
    raw = reshaped(g, grid, 0, count, g.length(grid, 1) // count, height, width)
    place = g.node("Sigmoid", part(g, raw, 2, 0, 2 * step, step))
    size = g.node("Exp", part(g, raw, 2, 2 * step, 4 * step, step))
    cells = np.stack(np.broadcast_arrays(np.arange(float(width)), np.arange(float(height))[:, None]))
    lengths = np.array([width, height], np.float64).reshape(2, 1, 1)
    centers = g.node("Div", g.node("Add", place, g.constant(cells)), g.constant(lengths))
    sizes = g.node("Mul", size, g.constant(anchors.reshape(count, 2, 1, 1)))
    return raw, corners_onnx(g, *(transposed(g, each, 0, 1, 3, 4, 2) for each in (centers, sizes)))


def rows_onnx(g: OnnxGraph, boxes: str, scores: str, labels: str, least: float, threshold: float) -> str:
    """Write `rows` in ONNX operators, for boxes given by corners whose scores are above `least`."""
    below = float(np.nextafter(np.float32(threshold), np.float32(-1)))
    at = suppressed_onnx(g, boxes, scores, below, limit=np.iinfo(np.int32).max, least=least)
    label, score = (g.node("Unsqueeze", picked(g, each, *at), g.constant([1])) for each in (labels, scores))
    detections = g.node("Concat", g.to_float(at[0]), label, score, picked(g, boxes, *at), axis=1)
    return detections_or_none(g, detections, scores)


def nearness(a: Tensor, b: Tensor, kind: Kind) -> Tensor:
    """Return the IoU, or a measure that also distinguishes boxes that don't overlap."""
    plain = iou(a, b)
    if kind not in (GIOU, DIOU, CIOU):
        return plain
    hull = _hull(a, b)
    if kind == GIOU:
        around = hull.prod(-1)
        union = (a[..., 2:].prod(-1) + b[..., 2:].prod(-1)) / (1 + plain)
        return plain - ((around - union) / around).where(around != 0, 0)
    diagonal = hull.square().sum(-1)
    apart = ((a[..., :2] - b[..., :2]).square().sum(-1) / diagonal).where(diagonal != 0, 0)
    if kind == DIOU:
        return plain - apart.pow(0.6)
    form = _form(a, b).square() * (4 / math.pi**2)
    return plain - (apart + form.square() / (1 - plain + form + 1e-6)).where(diagonal != 0, 0)


def _hull(a: Tensor, b: Tensor) -> Tensor:
    """Return the width and height of the smallest box around both boxes."""
    one, other = corners(a), corners(b)
    return torch.maximum(one[..., 2:], other[..., 2:]) - torch.minimum(one[..., :2], other[..., :2])


def _form(a: Tensor, b: Tensor) -> Tensor:
    """Return the difference of the angles that stand for the aspect ratios: that of `b` minus that of `a`."""
    return torch.atan(b[..., 2] / b[..., 3]) - torch.atan(a[..., 2] / a[..., 3])


def slope(box: Tensor, truth: Tensor, kind: Kind) -> Tensor:
    """Return darknet's derivatives of a measure with respect to x, y, width and height of `box`.

    Darknet's rule: the derivatives for width and height aren't halved. Where boxes don't overlap, only the term that
    the measure adds to the IoU counts. Both axes are computed together, so `flip` returns the other axis's lengths.
    """
    low, high = corners(box).chunk(2, -1)
    truth_low, truth_high = corners(truth).chunk(2, -1)
    shared = torch.minimum(high, truth_high) - torch.maximum(low, truth_low)
    inside_low, inside_high = low > truth_low, high < truth_high
    outside_low, outside_high = low < truth_low, high > truth_high
    area, across = (high - low).prod(-1, keepdim=True), shared.flip(-1)
    inter = shared.prod(-1, keepdim=True)
    union = area + truth[..., 2:].prod(-1, keepdim=True) - inter
    inter_low, inter_high = -across.where(inside_low, 0), across.where(inside_high, 0)
    union_low, union_high = -(high - low).flip(-1) - inter_low, (high - low).flip(-1) - inter_high
    to_low = ((union * inter_low - inter * union_low) / union.square()).where(union > 0, 0)
    to_high = ((union * inter_high - inter * union_high) / union.square()).where(union > 0, 0)
    to_low = to_low.where(low < high, to_high)
    meet = (shared > 0).all(-1, keepdim=True)
    hull = _hull(box, truth)
    if kind == GIOU:
        around, other_side = hull.prod(-1, keepdim=True), hull.flip(-1)
        term_low = (around * union_low + union * other_side.where(outside_low, 0)) / around.square()
        term_high = (around * union_high - union * other_side.where(outside_high, 0)) / around.square()
        to_low, to_high = to_low.where(meet, 0) + term_low, to_high.where(meet, 0) + term_high
    center, size = to_low + to_high, to_high - to_low
    if kind in (DIOU, CIOU):
        far = _distance_slope(box, truth, hull, outside_low.to(box.dtype), outside_high.to(box.dtype))
        center, size = center.where(meet, 0) + far[0], size.where(meet, 0) + far[1]
    if kind == CIOU:
        size = size + _form_slope(box, truth, inter / union)
    return torch.cat([center, size], -1)


def _distance_slope(
    box: Tensor, truth: Tensor, hull: Tensor, outside_low: Tensor, outside_high: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the derivatives of the centers' distance over the diagonal, with respect to center and size."""
    diagonal = hull.square().sum(-1, keepdim=True)
    apart = truth[..., :2] - box[..., :2]
    distance = apart.square().sum(-1, keepdim=True)
    grows = 2 * hull * (outside_high - outside_low)
    widens = hull * (outside_high + outside_low)
    return (2 * apart * diagonal - grows * distance) / diagonal.square(), widens * distance / diagonal.square()


def _form_slope(box: Tensor, truth: Tensor, overlap: Tensor) -> Tensor:
    """Return the derivatives of CIoU's weighted aspect ratio term."""
    angle = _form(box, truth)[..., None]
    form = angle.square() * (4 / math.pi**2)
    weight = form / (1 - overlap + form + 1e-6)
    sides = box[..., 2:].flip(-1) * constants([1.0, -1.0], box)
    return weight * (8 / math.pi**2) * angle * sides
