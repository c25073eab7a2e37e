"""Boxes as two corners (x1, y1, x2, y2): codes relative to other boxes, overlaps, non-maximum suppression."""

from __future__ import annotations

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layers._constants import constants

Code = pb.PriorBoxParameter.CodeType

_BLOCK = 256  # boxes that are compared with each other at once


def prior_boxes(priors: Tensor) -> tuple[Tensor, Tensor]:
    """The boxes and the variances that PriorBox makes; one set serves all images."""
    boxes, variances = priors.detach().reshape(priors.shape[0], 2, -1, 4)[0]
    return boxes, variances


def encode(code: Code, boxes: Tensor, priors: Tensor, variances: Tensor | None = None) -> Tensor:
    """What a net has to predict for boxes, relative to priors."""
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
    """The boxes that predictions mean, relative to priors."""
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


def overlaps(one: Tensor, other: Tensor, pixel: float = 0) -> Tensor:
    """Intersections over unions, box by box."""
    columns = (boxes.movedim(-1, 0).contiguous() for boxes in (one, other))  # so that the last axis is long
    (left, top, right, bottom), (left_, top_, right_, bottom_) = columns
    width = (torch.minimum(right, right_) - torch.maximum(left, left_) + pixel).clamp_min(0)
    height = (torch.minimum(bottom, bottom_) - torch.maximum(top, top_) + pixel).clamp_min(0)
    common = width * height
    return torch.where(common > 0, common / (areas(one, pixel) + areas(other, pixel) - common), 0)


def best_first(groups: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
    """An order by group and then by falling score, and the rank within its group of each item in that order."""
    order = scores.argsort(descending=True, stable=True)
    order = order[groups[order].argsort(stable=True)]
    ordered = groups[order]
    first = torch.searchsorted(ordered, ordered)
    return order, torch.arange(len(order), device=order.device) - first


def suppressed(
    boxes: Tensor, groups: Tensor, threshold: float, *, eta: float = 1, pixel: float = 0, limit: int | None = None
) -> Tensor:
    """The indices of those boxes that overlap with no better box of their group that stays by more than a threshold.

    Boxes come as `best_first` orders them. In each group at most `limit` stay. With `eta` below 1 the threshold falls
    with each box that stays, while it is above a half.
    """
    stays = torch.zeros_like(groups, dtype=torch.bool)
    thresholds = constants(_thresholds(threshold, eta), boxes)
    for start in range(0, len(boxes), _BLOCK):
        own, group = boxes[start : start + _BLOCK], groups[start : start + _BLOCK]
        earlier = boxes[:start][stays[:start] & (groups[:start] == group[0])]
        if len(earlier) == limit and bool(group[0] == group[-1]):
            continue
        first = group == group[0]  # the only group that can have begun in an earlier block
        most = torch.zeros_like(own[:, 0])
        if len(earlier):
            most = overlaps(own[:, None], earlier, pixel).amax(1).where(first, 0)
        before = (group[:, None] == group).tril(-1)
        common = overlaps(own[:, None], own, pixel).where(before, 0)
        stays[start : start + _BLOCK] = _settled(
            common, before.to(common), most, first * len(earlier), thresholds, limit
        )
    return stays.nonzero()[:, 0]


def _settled(
    common: Tensor, before: Tensor, most: Tensor, count: Tensor, thresholds: Tensor, limit: int | None
) -> Tensor:
    """Which boxes of a block stay: guessed until the guess confirms itself, as it must, the first box being certain.

    `common` and `before` are the overlaps with the boxes before it and which these are, `most` and `count` the largest
    overlap with boxes of earlier blocks and their number.
    """
    stays = torch.ones_like(most, dtype=torch.bool)
    while True:
        counts = (before @ stays.to(before)).long() + count
        guess = torch.maximum(most, common.where(stays, 0).amax(1)) <= thresholds[counts.clamp_max(len(thresholds) - 1)]
        guess = guess if limit is None else guess & (counts < limit)
        if torch.equal(guess, stays):
            return stays
        stays = guess


def _thresholds(threshold: float, eta: float) -> list[float]:
    """The thresholds after 0, 1, 2... boxes; the last one stays."""
    thresholds = [threshold]
    while eta < 1 and thresholds[-1] > 0.5:
        thresholds.append(thresholds[-1] * eta)
    return thresholds
