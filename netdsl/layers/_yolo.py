"""What YOLO's layers share: boxes, overlaps, the truths in a label, and losses that state their gradient.

A box is (x, y, width, height) on a last axis: its centre and size as shares of the image.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from netdsl.layers._boxes import overlaps
from netdsl.layers._constants import constants


def per_anchor(x: Tensor, count: int) -> Tensor:
    """Predictions (N, A, K, H, W), which lie one after the other in the channels."""
    return x.reshape(len(x), count, -1, *x.shape[2:])


def boxes(centres: Tensor, sizes: Tensor, anchors: Tensor) -> Tensor:
    """Boxes of all cells: `centres` in their cells and logarithms of `sizes`, both (N, A, 2, H, W); anchors (A, 2).

    Their order is (N, A, H, W, 4).
    """
    height, width = centres.shape[-2:]
    x = (centres[:, :, 0] + torch.arange(width, device=centres.device)) / width
    y = (centres[:, :, 1] + torch.arange(height, device=centres.device)[:, None]) / height
    w, h = (sizes.exp() * anchors[:, :, None, None]).unbind(2)
    return torch.stack([x, y, w, h], -1)


def corners(box: Tensor) -> Tensor:
    """The same boxes as left, top, right and bottom."""
    halves = box[..., 2:] / 2
    return torch.cat((box[..., :2] - halves, box[..., :2] + halves), -1)


def from_corners(box: Tensor) -> Tensor:
    """Boxes of two corners as centre and size."""
    return torch.cat(((box[..., :2] + box[..., 2:]) / 2, box[..., 2:] - box[..., :2]), -1)


def iou(one: Tensor, other: Tensor) -> Tensor:
    """Intersection over union."""
    return overlaps(corners(one), corners(other))


def pairs(values: Sequence[float], like: Tensor) -> Tensor:
    """Widths and heights of anchors, as (A, 2)."""
    return constants(values, like).view(-1, 2)


def until_zero(values: Tensor) -> Tensor:
    """Which entries of the last axis come before its first zero: a label ends where a number is 0."""
    return (values != 0).cumprod(-1).bool()


def cropped(truths: Tensor, used: Tensor) -> Tensor:
    """Truths (N, T, 5) without the columns that no item uses; one is always left."""
    return truths[:, : max(int(used.sum(1).max()), 1)]


def concentric(sizes: Tensor) -> Tensor:
    """Boxes of these sizes around one point, so that only sizes are compared."""
    return torch.cat([torch.zeros_like(sizes), sizes], -1)


def cells(truths: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
    """Row and column of the cell that a box's centre lies in."""
    row = (truths[..., 1] * height).long().clamp(0, height - 1)
    column = (truths[..., 0] * width).long().clamp(0, width - 1)
    return row, column


def newest(keys: Tensor, count: int) -> Tensor:
    """Which of the entries that have the same key is the last; keys are less than `count`."""
    order = torch.arange(len(keys), device=keys.device)
    last = order.new_full((count,), -1).scatter_reduce(0, keys, order, "amax")
    return last[keys] == order
