"""Boxes given by two corners (x1, y1, x2, y2): encoding relative to priors, overlaps and non-maximum suppression."""

from __future__ import annotations

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import OnnxGraph
from netdsl.layer.onnx_boxes import Code
from netdsl.layer.onnx_form import UNKNOWN, reshaped
from netdsl.layers._constants import constants

_BLOCK, _DEVICE_BLOCK = 256, 4096  # how many boxes are compared with each other at once, on a CPU and on other devices
_CROWDED = (
    0.5  # if a smaller share of a CPU's block is kept, the remaining boxes are compared with the kept ones right away
)
_PAIRS = 1 << 16  # how many pairs are compared at a time in that case, so that they fit in the cache
LOWEST_FALLING = 0.5  # Caffe's rule: eta lowers a threshold only while it is above this


def prior_boxes(priors: Tensor) -> tuple[Tensor, Tensor]:
    """Return the boxes and the variances that PriorBox makes. All images share them."""
    boxes, variances = priors.detach().reshape(priors.shape[0], 2, -1, 4)[0]
    return boxes, variances


def encode(code: Code, boxes: Tensor, priors: Tensor, variances: Tensor | None = None) -> Tensor:
    """Return the targets of a box regression: the boxes, encoded relative to priors."""
    sides = _sides(priors)
    if code == pb.PriorBoxParameter.CENTER_SIZE:
        shift = (_centers(boxes) - _centers(priors)) / sides
        codes = torch.cat((shift, (_sides(boxes) / sides).log()), -1)
    else:
        codes = boxes - priors
        if code == pb.PriorBoxParameter.CORNER_SIZE:
            codes = codes / torch.cat((sides, sides), -1)
    return codes if variances is None else codes / variances


def decode(code: Code, codes: Tensor, priors: Tensor, variances: Tensor | None = None) -> Tensor:
    """Return the boxes that predictions encode relative to priors."""
    codes = codes if variances is None else codes * variances
    sides = _sides(priors)
    if code == pb.PriorBoxParameter.CENTER_SIZE:
        centers = codes[..., :2] * sides + _centers(priors)
        halves = codes[..., 2:].exp() * sides / 2
        return torch.cat((centers - halves, centers + halves), -1)
    if code == pb.PriorBoxParameter.CORNER_SIZE:
        codes = codes * torch.cat((sides, sides), -1)
    return priors + codes


def _sides(boxes: Tensor) -> Tensor:
    return boxes[..., 2:] - boxes[..., :2]


def _centers(boxes: Tensor) -> Tensor:
    return (boxes[..., :2] + boxes[..., 2:]) / 2


def areas(boxes: Tensor, pixel: float = 0) -> Tensor:
    """Return the area of each box, or 0 if its corners are swapped.

    `pixel` is 1 for boxes that include their last pixel.
    """
    width, height = _sides(boxes).unbind(-1)
    return (width + pixel) * (height + pixel) * ((width >= 0) & (height >= 0))


@torch.no_grad()
def overlaps(one: Tensor, other: Tensor, pixel: float = 0) -> Tensor:
    """Return the intersection over union of each pair of boxes.

    The computation reuses memory, since allocation is slower than arithmetic here.
    """
    columns = (boxes.movedim(-1, 0).contiguous() for boxes in (one, other))  # makes the last axis long
    (left, top, right, bottom), (left_, top_, right_, bottom_) = columns
    least = torch.maximum(left, left_)
    width = torch.minimum(right, right_).sub_(least).add_(pixel).clamp_min_(0)
    height = torch.minimum(bottom, bottom_).sub_(torch.maximum(top, top_, out=least)).add_(pixel).clamp_min_(0)
    common = width.mul_(height)
    union = torch.add(areas(one, pixel), areas(other, pixel), out=least).sub_(common)
    return common.div_(union).nan_to_num_(0)  # 0 / 0 occurs if both boxes are points


def best_first(groups: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
    """Return an order by group and then by falling score, and the rank of each ordered item within its group."""
    order = scores.argsort(descending=True, stable=True)
    order = order[groups[order].argsort(stable=True)]
    return order, _ranks(groups[order])


def _ranks(groups: Tensor) -> Tensor:
    """Return how many items of the same group come before each item. The groups are sorted."""
    return torch.arange(len(groups), device=groups.device) - torch.searchsorted(groups, groups)


def suppressed(
    boxes: Tensor, groups: Tensor, threshold: float, *, eta: float = 1, pixel: float = 0, limit: int | None = None
) -> Tensor:
    """Return the indices of the boxes that survive non-maximum suppression within their groups.

    A box is dropped if it overlaps a better kept box of its group by more than the threshold. The boxes are in the
    order of `best_first`. Each group keeps at most `limit` boxes. If `eta` is below 1, each kept box lowers the
    threshold while it is above 0.5.
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
        first = group == group[0]  # only the block's first group can have begun in an earlier block
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
    """Return the places without the boxes of the rivals' group that overlap a rival by too much.

    The boxes of this group come first. Each step compares the next rivals only with the boxes that are left.
    """
    count = int(same.sum())
    near, others = places[:count], places[count:]
    while len(near) and len(rivals):
        step = max(_PAIRS // len(near), 1)
        most = overlaps(rivals[:step, None], boxes[near], pixel).amax(0)
        near, rivals = near[most <= threshold], rivals[step:]
    return torch.cat((near, others))


def _settled(boxes: Tensor, groups: Tensor, most: Tensor, count: Tensor, thresholds: Tensor, pixel: float) -> Tensor:
    """Return which boxes of a block are kept.

    The function repeats a guess until it doesn't change. It converges because the first box is always kept. `most` and
    `count` are the largest overlap with kept boxes of earlier blocks and the number of these boxes.
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
    """Return the threshold after `count` kept boxes."""
    return thresholds[count.clamp_max(len(thresholds) - 1)]


def _thresholds(threshold: float, eta: float) -> list[float]:
    """Return the thresholds after 0, 1, 2... kept boxes. The last one applies to all further boxes."""
    thresholds = [threshold]
    while eta < 1 and thresholds[-1] > LOWEST_FALLING:
        thresholds.append(thresholds[-1] * eta)
    return thresholds


def picked(g: OnnxGraph, values: str, group: str, index: str) -> str:
    """Return the entries of `values` (groups, places, ...) at the given groups and places."""
    return g.node("GatherND", values, g.node("Concat", group, index, axis=1))


def detections_or_none(g: OnnxGraph, rows: str, like: str) -> str:
    """Return rows (count, 7) as a blob with four axes. Caffe's rule: without any row, each item gets a row of -1."""
    items = g.node("Squeeze", g.node("Shape", like, start=0, end=1), g.constant([0]))
    numbers = reshaped(g, g.to_float(g.node("Range", g.constant(0), items, g.constant(1))), UNKNOWN, 1)
    empty = g.node("Concat", numbers, g.node("Expand", g.constant(-1.0), _six(g, like)), axis=1)
    none = g.node("Equal", g.node("Shape", rows, start=0, end=1), g.constant([0]))
    shown = g.node("Compress", empty, g.node("Expand", none, g.node("Shape", like, start=0, end=1)), axis=0)
    return g.node("Unsqueeze", g.node("Concat", rows, shown, axis=0), g.constant([0, 1]))


def _six(g: OnnxGraph, like: str) -> str:
    return g.node("Concat", g.node("Shape", like, start=0, end=1), g.constant([6]), axis=0)
