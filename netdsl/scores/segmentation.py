"""Scores of segmentations: how well the pixels of each class are classified."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netdsl.scores.boxes import Integers, Numbers


def count_confusions(
    labels: NDArray[np.integer], predicted: NDArray[np.integer], classes: int, ignored: Collection[int] = ()
) -> Integers:
    """Return a confusion matrix with true classes in rows and predicted ones in columns.

    Labels that aren't classes don't count.
    """
    labels, predicted = labels.reshape(-1).astype(np.int64), predicted.reshape(-1).astype(np.int64)
    counted = (labels >= 0) & (labels < classes) & ~np.isin(labels, list(ignored))
    pairs = labels[counted] * classes + predicted[counted]
    return np.bincount(pairs, minlength=classes**2).reshape(classes, classes)


@dataclass(frozen=True)
class PixelClass:
    """The scores of a class. A share of nothing is `None`."""

    label: int
    pixels: int
    accuracy: float | None  # the share of its pixels that are classified correctly
    iou: float | None  # the intersection over union of its pixels and those predicted as this class


@dataclass(frozen=True)
class SegmentationScores:
    """Scores from a confusion matrix with true classes in rows and predicted ones in columns."""

    counts: Integers

    @property
    def _parts(self) -> tuple[Numbers, Numbers, Numbers]:
        """The number of pixels of each class: correct ones, true ones, and true or predicted ones."""
        hits, there = self.counts.diagonal(), self.counts.sum(1)
        return hits.astype(np.float64), there.astype(np.float64), (there + self.counts.sum(0) - hits).astype(np.float64)

    @property
    def pixel_accuracy(self) -> float | None:
        """The share of all pixels that are classified correctly."""
        hits, there, _ = self._parts
        return _mean(_shares(hits.sum(keepdims=True), there.sum(keepdims=True)))

    @property
    def mean_accuracy(self) -> float | None:
        """The mean share of correct pixels over the classes that occur in the labels."""
        hits, there, _ = self._parts
        return _mean(_shares(hits, there))

    @property
    def mean_iou(self) -> float | None:
        """The mean intersection over union of the classes that occur in the labels or predictions."""
        hits, _, either = self._parts
        return _mean(_shares(hits, either))

    @property
    def labeled_iou(self) -> float | None:
        """ParseNet's mean intersection over union, which ignores classes that are only predicted."""
        hits, there, either = self._parts
        return _mean(_shares(hits, either)[there > 0])

    @property
    def weighted_iou(self) -> float | None:
        """The mean intersection over union of all classes, weighted by their number of pixels."""
        hits, there, either = self._parts
        ious = np.nan_to_num(_shares(hits, either))
        return float((there * ious).sum() / there.sum()) if there.any() else None

    def by_class(self) -> list[PixelClass]:
        """Return the scores of each class."""
        hits, there, either = self._parts
        accuracies, ious = (_or_none(_shares(hits, whole)) for whole in (there, either))
        pixels = self.counts.sum(1).tolist()
        return [PixelClass(*row) for row in zip(range(len(pixels)), pixels, accuracies, ious, strict=True)]

    def summary(self) -> dict[str, float | None]:
        """Return the four numbers that papers about segmentation report."""
        return {
            "pixel accuracy": self.pixel_accuracy,
            "mean accuracy": self.mean_accuracy,
            "mIoU": self.mean_iou,
            "frequency-weighted IoU": self.weighted_iou,
        }


def _shares(part: Numbers, whole: Numbers) -> Numbers:
    return np.divide(part, whole, out=np.full_like(part, np.nan), where=whole > 0)


def _mean(shares: Numbers) -> float | None:
    shares = shares[~np.isnan(shares)]
    return float(shares.mean()) if len(shares) else None


def _or_none(shares: Numbers) -> list[float | None]:
    return [None if np.isnan(share) else float(share) for share in shares]
