"""Arithmetic of boxes whose edges are parts of an image, in float32 as Caffe's."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Boxes = NDArray[Any]  # rows of a left, an upper, a right and a lower edge
Box = Boxes  # one such row

WHOLE: Box = np.array([0, 0, 1, 1], np.float32)


def areas(boxes: Boxes) -> Boxes:
    """The areas of boxes; one that ends before it begins has none."""
    sides: Boxes = boxes[..., 2:] - boxes[..., :2]
    return np.where((sides < 0).any(-1), np.float32(0), sides.prod(-1))


def common_areas(some: Boxes, others: Boxes) -> Boxes:
    """The area that each of some boxes shares with each of the others, which are the columns."""
    first = np.maximum(some[:, None, :2], others[None, :, :2])
    last = np.minimum(some[:, None, 2:], others[None, :, 2:])
    common: Boxes = (last - first).clip(0).prod(-1)
    return common


def jaccard_overlaps(some: Boxes, others: Boxes) -> Boxes:
    """What two boxes share as a part of what they cover together, for each of some boxes and of the others."""
    common = common_areas(some, others)
    return _ratio(common, areas(some)[:, None] + areas(others)[None] - common)


def coverages(some: Boxes, others: Boxes) -> Boxes:
    """The part of each of some boxes that lies in each of the others."""
    return _ratio(common_areas(some, others), areas(some)[:, None])


def project(boxes: Boxes, window: Box) -> tuple[Boxes, NDArray[Any]]:
    """Boxes as parts of a window of the image, clipped to it, and which of them have an area there."""
    origin, size = np.tile(window[:2], 2), np.tile(window[2:] - window[:2], 2)
    meets = ((boxes[:, :2] < window[2:]) & (boxes[:, 2:] > window[:2])).all(-1)
    projected = ((boxes - origin) / size).clip(0, 1)
    return projected, meets & (areas(projected) > 0)


def _ratio(part: Boxes, whole: Boxes) -> Boxes:
    """Parts of wholes, which are 0 of what has no area."""
    return np.divide(part, whole, out=np.zeros_like(part), where=part > 0)
