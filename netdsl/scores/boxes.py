"""The boxes of detections and of true objects, and their overlaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class DetectedBoxes:
    """Boxes with the image, the label and the score of each. A box is (left, top, right, bottom)."""

    image: Integers
    label: Integers
    score: Numbers
    box: Numbers

    def __len__(self) -> int:
        return len(self.image)

    @classmethod
    def of(cls, rows: NDArray[np.floating]) -> DetectedBoxes:
        """Return the boxes in rows of image, label, score, left, top, right and bottom."""
        rows = np.asarray(rows, np.float64).reshape(-1, 7)
        return cls(rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64), rows[:, 2], rows[:, 3:])

    def after(self, images: int) -> DetectedBoxes:
        """Return the same boxes with `images` added to the image numbers."""
        return replace(self, image=self.image + images)

    def take(self, places: Integers | Flags) -> DetectedBoxes:
        """Return the boxes with these indices or flags."""
        return DetectedBoxes(self.image[places], self.label[places], self.score[places], self.box[places])

    @staticmethod
    def join(parts: Sequence[DetectedBoxes]) -> DetectedBoxes:
        """Return the boxes of all parts in order."""
        columns = zip(*((part.image, part.label, part.score, part.box) for part in parts), strict=True)
        return DetectedBoxes(*map(np.concatenate, columns)) if parts else DetectedBoxes.of(np.empty((0, 7)))


@dataclass(frozen=True)
class ObjectBoxes:
    """Boxes of objects with the image and the label of each.

    Detectors don't have to find a difficult object, nor a crowd, which stands for many objects. `area` is the area of
    the object itself, which may be smaller than its box.
    """

    image: Integers
    label: Integers
    box: Numbers
    difficult: Flags
    crowd: Flags
    area: Numbers

    def __len__(self) -> int:
        return len(self.image)

    @classmethod
    def of(
        cls,
        rows: NDArray[np.floating],
        *,
        difficult: Sequence[bool] | Flags | None = None,
        crowd: Sequence[bool] | Flags | None = None,
        area: Sequence[float] | Numbers | None = None,
    ) -> ObjectBoxes:
        """Return the boxes in rows of image, label, left, top, right and bottom."""
        rows = np.asarray(rows, np.float64).reshape(-1, 6)
        no = np.zeros(len(rows), np.bool_)
        return cls(
            rows[:, 0].astype(np.int64),
            rows[:, 1].astype(np.int64),
            rows[:, 2:],
            no if difficult is None else np.asarray(difficult, np.bool_),
            no if crowd is None else np.asarray(crowd, np.bool_),
            areas(rows[:, 2:]) if area is None else np.asarray(area, np.float64),
        )

    def after(self, images: int) -> ObjectBoxes:
        """Return the same boxes with `images` added to the image numbers."""
        return replace(self, image=self.image + images)

    @staticmethod
    def join(parts: Sequence[ObjectBoxes]) -> ObjectBoxes:
        """Return the boxes of all parts in order."""
        columns = zip(*((p.image, p.label, p.box, p.difficult, p.crowd, p.area) for p in parts), strict=True)
        return ObjectBoxes(*map(np.concatenate, columns)) if parts else ObjectBoxes.of(np.empty((0, 6)))


def areas(boxes: Numbers, pixel: float = 0) -> Numbers:
    """Return the areas of boxes. `pixel` is 1 for boxes that include their last pixels, and is added to each side."""
    sides = boxes[:, 2:] - boxes[:, :2] + pixel
    return np.asarray(sides[:, 0] * sides[:, 1])


@dataclass(frozen=True)
class BoxPairs:
    """The pairs of a detection and an object with the same image and label, by detection and then by object."""

    detection: Integers
    object: Integers

    def __len__(self) -> int:
        return len(self.detection)

    @classmethod
    def of(cls, detected: DetectedBoxes, objects: ObjectBoxes) -> BoxPairs:
        """Return all pairs. Those of a detection follow each other, in the order of the objects."""
        keys = np.stack([np.r_[detected.image, objects.image], np.r_[detected.label, objects.label]], 1)
        group = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
        of_detection, of_object = group[: len(detected)], group[len(detected) :]
        order = np.argsort(of_object, kind="stable")
        first = np.searchsorted(of_object[order], of_detection, "left")
        counts = np.searchsorted(of_object[order], of_detection, "right") - first
        detection = np.repeat(np.arange(len(detected)), counts)
        rank = np.arange(len(detection)) - np.repeat(np.cumsum(counts) - counts, counts)
        return cls(detection, order[np.repeat(first, counts) + rank])

    def shared_areas(self, detected: DetectedBoxes, objects: ObjectBoxes, pixel: float = 0) -> Numbers:
        """Return the area that the two boxes of each pair share."""
        one, other = detected.box[self.detection], objects.box[self.object]
        sides = np.minimum(one[:, 2:], other[:, 2:]) - np.maximum(one[:, :2], other[:, :2]) + pixel
        sides = np.maximum(sides, 0)
        return np.asarray(sides[:, 0] * sides[:, 1])

    def overlaps(self, detected: DetectedBoxes, objects: ObjectBoxes, pixel: float = 0) -> Numbers:
        """Return the intersection over union of each pair. For a crowd, the union is the detection alone."""
        shared = self.shared_areas(detected, objects, pixel)
        either = areas(detected.box, pixel)[self.detection] + np.where(
            objects.crowd[self.object], 0, areas(objects.box, pixel)[self.object] - shared
        )
        return np.divide(shared, either, out=np.zeros_like(shared), where=either > 0)
