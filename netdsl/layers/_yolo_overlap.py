"""How near two boxes are, by the measures that YOLO's third version can learn from, and what it sends back for them."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layers._constants import constants
from netdsl.layers._yolo import corners, iou

Kind = pb.Yolov3Parameter.IOU_LOSS
GIOU, DIOU, CIOU = pb.Yolov3Parameter.GIOU, pb.Yolov3Parameter.DIOU, pb.Yolov3Parameter.CIOU


def nearness(a: Tensor, b: Tensor, kind: Kind) -> Tensor:
    """IoU, or one of the measures that also tell apart boxes that don't meet."""
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
    """Width and height of the box around both."""
    one, other = corners(a), corners(b)
    return torch.maximum(one[..., 2:], other[..., 2:]) - torch.minimum(one[..., :2], other[..., :2])


def _form(a: Tensor, b: Tensor) -> Tensor:
    """By which angle the aspect ratio of `a` falls short of that of `b`."""
    return torch.atan(b[..., 2] / b[..., 3]) - torch.atan(a[..., 2] / a[..., 3])


def slope(box: Tensor, truth: Tensor, kind: Kind) -> Tensor:
    """Darknet's derivatives of a measure with respect to x, y, width and height of `box`.

    Darknet's rule: those of width and height aren't halved, and where boxes don't meet only the term counts that IoU
    lacks. Everything is done for both axes at once, so `flip` gives the other axis's lengths.
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
        around, beside = hull.prod(-1, keepdim=True), hull.flip(-1)
        term_low = (around * union_low + union * beside.where(outside_low, 0)) / around.square()
        term_high = (around * union_high - union * beside.where(outside_high, 0)) / around.square()
        to_low, to_high = to_low.where(meet, 0) + term_low, to_high.where(meet, 0) + term_high
    centre, size = to_low + to_high, to_high - to_low
    if kind in (DIOU, CIOU):
        far = _distance_slope(box, truth, hull, outside_low.to(box.dtype), outside_high.to(box.dtype))
        centre, size = centre.where(meet, 0) + far[0], size.where(meet, 0) + far[1]
    if kind == CIOU:
        size = size + _form_slope(box, truth, inter / union)
    return torch.cat([centre, size], -1)


def _distance_slope(
    box: Tensor, truth: Tensor, hull: Tensor, outside_low: Tensor, outside_high: Tensor
) -> tuple[Tensor, Tensor]:
    """Of the distance of the centres over the diagonal: with respect to centre and to size."""
    diagonal = hull.square().sum(-1, keepdim=True)
    apart = truth[..., :2] - box[..., :2]
    distance = apart.square().sum(-1, keepdim=True)
    grows = 2 * hull * (outside_high - outside_low)
    widens = hull * (outside_high + outside_low)
    return (2 * apart * diagonal - grows * distance) / diagonal.square(), widens * distance / diagonal.square()


def _form_slope(box: Tensor, truth: Tensor, overlap: Tensor) -> Tensor:
    """Of the aspect ratio, as weighed by CIoU."""
    angle = _form(box, truth)[..., None]
    form = angle.square() * (4 / math.pi**2)
    weight = form / (1 - overlap + form + 1e-6)
    sides = box[..., 2:].flip(-1) * constants([1.0, -1.0], box)
    return weight * (8 / math.pi**2) * angle * sides
