"""Boxes as two corners (x1, y1, x2, y2): codes relative to other boxes, overlaps, non-maximum suppression."""

from __future__ import annotations

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb

Code = pb.PriorBoxParameter.CodeType


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
    upper = torch.minimum(one[..., 2:], other[..., 2:])
    width, height = (upper - torch.maximum(one[..., :2], other[..., :2]) + pixel).clamp_min(0).unbind(-1)
    common = width * height
    union = areas(one, pixel) + areas(other, pixel) - common
    return torch.where(common > 0, common / union, 0)


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
    rest = torch.arange(len(boxes), device=boxes.device)
    most = boxes.new_zeros(len(boxes))  # a box's largest overlap with any that stays
    stay: list[Tensor] = []
    while len(rest) and len(stay) != limit:  # one more box of every group in each turn
        first = torch.ones_like(rest, dtype=torch.bool)
        first[1:] = groups[1:] != groups[:-1]
        stay.append(rest[first])
        rivals = boxes[first][first.cumsum(0) - 1]
        most = torch.maximum(most, overlaps(boxes, rivals, pixel))
        threshold = threshold * eta if threshold > 0.5 else threshold
        kept = ~first & (most <= threshold)
        rest, boxes, groups, most = rest[kept], boxes[kept], groups[kept], most[kept]
    return torch.cat([rest[:0], *stay]).sort().values
