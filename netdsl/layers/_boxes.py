"""Boxes as two corners (x1, y1, x2, y2): codes relative to other boxes, overlaps, non-maximum suppression."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import OnnxGraph
from netdsl.layer.onnx_form import UNKNOWN, part, reshaped
from netdsl.layers._constants import constants

Code = pb.PriorBoxParameter.CodeType
_BLOCK, _DEVICE_BLOCK = 256, 4096  # boxes that are compared with each other at once, by a CPU and by others
_CROWDED = 0.5  # where less of a CPU's block stays, what follows is compared with what stayed at once
_PAIRS = 1 << 16  # that are compared then at a time, so that they stay in the cache
LOWEST_FALLING = 0.5  # Caffe's rule: a threshold that isn't above it doesn't fall by eta


def prior_boxes(priors: Tensor) -> tuple[Tensor, Tensor]:
    """Return the boxes and the variances that PriorBox makes; one set serves all images."""
    boxes, variances = priors.detach().reshape(priors.shape[0], 2, -1, 4)[0]
    return boxes, variances


def encode(code: Code, boxes: Tensor, priors: Tensor, variances: Tensor | None = None) -> Tensor:
    """Return what a net has to predict for boxes, relative to priors."""
    sides = _sides(priors)
    if code == pb.PriorBoxParameter.CENTER_SIZE:
        shift = (_centres(boxes) - _centres(priors)) / sides
        codes = torch.cat((shift, (_sides(boxes) / sides).log()), -1)
    else:
        codes = boxes - priors
        if code == pb.PriorBoxParameter.CORNER_SIZE:
            codes = codes / torch.cat((sides, sides), -1)
    return codes if variances is None else codes / variances


def decode(code: Code, codes: Tensor, priors: Tensor, variances: Tensor | None = None) -> Tensor:
    """Return the boxes that predictions mean, relative to priors."""
    codes = codes if variances is None else codes * variances
    sides = _sides(priors)
    if code == pb.PriorBoxParameter.CENTER_SIZE:
        centres = codes[..., :2] * sides + _centres(priors)
        halves = codes[..., 2:].exp() * sides / 2
        return torch.cat((centres - halves, centres + halves), -1)
    if code == pb.PriorBoxParameter.CORNER_SIZE:
        codes = codes * torch.cat((sides, sides), -1)
    return priors + codes


def _sides(boxes: Tensor) -> Tensor:
    return boxes[..., 2:] - boxes[..., :2]


def _centres(boxes: Tensor) -> Tensor:
    return (boxes[..., :2] + boxes[..., 2:]) / 2


def areas(boxes: Tensor, pixel: float = 0) -> Tensor:
    """Areas; 0 for a box whose corners are the wrong way round. Boxes that count pixels include their last: 1."""
    width, height = _sides(boxes).unbind(-1)
    return (width + pixel) * (height + pixel) * ((width >= 0) & (height >= 0))


@torch.no_grad()
def overlaps(one: Tensor, other: Tensor, pixel: float = 0) -> Tensor:
    """Intersections over unions, box by box. New memory costs more than numbers here, so it is used again."""
    columns = (boxes.movedim(-1, 0).contiguous() for boxes in (one, other))  # so that the last axis is long
    (left, top, right, bottom), (left_, top_, right_, bottom_) = columns
    least = torch.maximum(left, left_)
    width = torch.minimum(right, right_).sub_(least).add_(pixel).clamp_min_(0)
    height = torch.minimum(bottom, bottom_).sub_(torch.maximum(top, top_, out=least)).add_(pixel).clamp_min_(0)
    common = width.mul_(height)
    union = torch.add(areas(one, pixel), areas(other, pixel), out=least).sub_(common)
    return common.div_(union).nan_to_num_(0)  # 0 / 0 is that of points


def best_first(groups: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
    """Return an order by group and then by falling score, and the rank within its group of each item in that order."""
    order = scores.argsort(descending=True, stable=True)
    order = order[groups[order].argsort(stable=True)]
    return order, _ranks(groups[order])


def _ranks(groups: Tensor) -> Tensor:
    """For each item how many of its group come before; groups are in order."""
    return torch.arange(len(groups), device=groups.device) - torch.searchsorted(groups, groups)


def suppressed(
    boxes: Tensor, groups: Tensor, threshold: float, *, eta: float = 1, pixel: float = 0, limit: int | None = None
) -> Tensor:
    """Return the indices of those boxes that overlap with no better box of their group that stays by more than a
    threshold.

    Boxes come as `best_first` orders them. In each group at most `limit` stay. With `eta` below 1 the threshold falls
    with each box that stays, while it is above a half.
    """
    stays = torch.zeros_like(groups, dtype=torch.bool)
    thresholds = constants(_thresholds(threshold, eta), boxes)
    size = _BLOCK if boxes.is_cpu else _DEVICE_BLOCK
    remaining = torch.arange(len(boxes), device=boxes.device)
    while len(remaining):
        block, remaining = remaining[:size], remaining[size:]
        own, group = boxes[block], groups[block]
        earlier = boxes[stays & (groups == group[0])]
        if limit is not None and len(earlier) >= limit and bool(group[0] == group[-1]):
            continue
        first = group == group[0]  # the only group that can have begun in an earlier block
        most = overlaps(own[:, None], earlier, pixel).amax(1) * first if len(earlier) else torch.zeros_like(own[:, 0])
        count = first * len(earlier)
        left = (most <= _after(thresholds, count)).nonzero()[:, 0]
        if len(left):
            stays[block[left]] = _settled(own[left], group[left], most[left], count[left], thresholds, pixel)
        if boxes.is_cpu and len(remaining):
            rivals = own[stays[block] & (group == group[-1])]
            if len(rivals) < size * _CROWDED:
                remaining = _thinned(remaining, boxes, groups[remaining] == group[-1], rivals, thresholds[0], pixel)
    kept = stays.nonzero()[:, 0]
    return kept if limit is None else kept[_ranks(groups[kept]) < limit]


def _thinned(places: Tensor, boxes: Tensor, same: Tensor, rivals: Tensor, threshold: Tensor, pixel: float) -> Tensor:
    """Return the places without those of the rivals' group, the first ones, whose boxes overlap with a rival by too
    much.

    The next rivals are compared only with what those before them left.
    """
    count = int(same.sum())
    near, others = places[:count], places[count:]
    while len(near) and len(rivals):
        step = max(_PAIRS // len(near), 1)
        most = overlaps(rivals[:step, None], boxes[near], pixel).amax(0)
        near, rivals = near[most <= threshold], rivals[step:]
    return torch.cat((near, others))


def _settled(boxes: Tensor, groups: Tensor, most: Tensor, count: Tensor, thresholds: Tensor, pixel: float) -> Tensor:
    """Return which boxes of a block stay: guessed until the guess confirms itself, as it must, the first box being
    certain.

    `most` and `count` are the largest overlap with boxes of earlier blocks and their number.
    """
    before = (groups[:, None] == groups).tril(-1).to(boxes)
    common = overlaps(boxes[:, None], boxes, pixel) * before
    close = (common > thresholds[0]).to(boxes)
    stays = torch.ones_like(most)
    while True:
        if len(thresholds) == 1:
            guess = close @ stays == 0
        else:
            counts = (before @ stays).long() + count
            guess = torch.maximum(most, (common * stays).amax(1)) <= _after(thresholds, counts)
        if torch.equal(guess, stays.bool()):
            return guess
        stays = guess.to(boxes)


def _after(thresholds: Tensor, count: Tensor) -> Tensor:
    """Return the threshold after this many boxes."""
    return thresholds[count.clamp_max(len(thresholds) - 1)]


def _thresholds(threshold: float, eta: float) -> list[float]:
    """Return the thresholds after 0, 1, 2... boxes; the last one stays."""
    thresholds = [threshold]
    while eta < 1 and thresholds[-1] > LOWEST_FALLING:
        thresholds.append(thresholds[-1] * eta)
    return thresholds


def decode_onnx(g: OnnxGraph, code: Code, codes: str, priors: str, variances: str | None = None) -> str:
    """Return the boxes that predictions mean, relative to priors; all have the corners or codes on their last axis."""
    codes = codes if variances is None else g.node("Mul", codes, variances)
    first, last = _halves(g, priors)
    sides = g.node("Sub", last, first)
    if code == pb.PriorBoxParameter.CENTER_SIZE:
        shift, growth = _halves(g, codes)
        half = g.constant(0.5)
        middle = g.node("Mul", g.node("Add", first, last), half)
        centres = g.node("Add", g.node("Mul", shift, sides), middle)
        halves = g.node("Mul", g.node("Mul", g.node("Exp", growth), sides), half)
        return g.node("Concat", g.node("Sub", centres, halves), g.node("Add", centres, halves), axis=-1)
    if code == pb.PriorBoxParameter.CORNER_SIZE:
        codes = g.node("Mul", codes, g.node("Concat", sides, sides, axis=-1))
    return g.node("Add", priors, codes)


def corners_onnx(g: OnnxGraph, centres: str, sizes: str) -> str:
    """Return boxes by centre and size as left, top, right and bottom."""
    halves = g.node("Mul", sizes, g.constant(0.5))
    return g.node("Concat", g.node("Sub", centres, halves), g.node("Add", centres, halves), axis=-1)


def suppressed_onnx(
    g: OnnxGraph, boxes: str, scores: str, threshold: float, *, limit: int, least: float = -np.inf, pixel: float = 0
) -> tuple[str, str]:
    """Of (groups, boxes, 4) and (groups, boxes) those that overlap with no better one of their group that stays.

    What comes back are group and index of each, both (count, 1), by group and falling score. Only boxes whose score is
    above `least` count. Boxes that count pixels include their last: 1.
    """
    if pixel:
        boxes = g.node("Add", boxes, g.constant([0.0, 0.0, pixel, pixel]))
    inputs = [boxes, g.node("Unsqueeze", scores, g.constant([1])), g.constant([limit])]
    inputs.append(g.node("Cast", g.constant([min(float(threshold), 1.0)]), to=1))  # no boxes overlap by more
    if np.isfinite(least):
        inputs.append(g.node("Cast", g.constant([float(least)]), to=1))
    chosen = g.node("NonMaxSuppression", *inputs)
    return part(g, chosen, 1, 0, 1), part(g, chosen, 1, 2, 3)


def picked(g: OnnxGraph, values: str, group: str, index: str) -> str:
    """Return the entries of (groups, places, ...) at some groups and places."""
    return g.node("GatherND", values, g.node("Concat", group, index, axis=1))


def detections_or_none(g: OnnxGraph, rows: str, like: str) -> str:
    """Return rows (count, 7) as a blob of four axes. Caffe's rule: if there are none, every item has a row of -1."""
    items = g.node("Squeeze", g.node("Shape", like, start=0, end=1), g.constant([0]))
    numbers = reshaped(g, g.to_float(g.node("Range", g.constant(0), items, g.constant(1))), UNKNOWN, 1)
    empty = g.node("Concat", numbers, g.node("Expand", g.constant(-1.0), _six(g, like)), axis=1)
    none = g.node("Equal", g.node("Shape", rows, start=0, end=1), g.constant([0]))
    shown = g.node("Compress", empty, g.node("Expand", none, g.node("Shape", like, start=0, end=1)), axis=0)
    return g.node("Unsqueeze", g.node("Concat", rows, shown, axis=0), g.constant([0, 1]))


def _six(g: OnnxGraph, like: str) -> str:
    return g.node("Concat", g.node("Shape", like, start=0, end=1), g.constant([6]), axis=0)


def _halves(g: OnnxGraph, boxes: str) -> tuple[str, str]:
    return part(g, boxes, -1, 0, 2), part(g, boxes, -1, 2, 4)
