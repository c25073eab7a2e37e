"""Scores of segmentations: how well the pixels of each class are found."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netdsl.scores.boxes import Integers, Numbers


def count_confusions(
    labels: NDArray[np.integer], predicted: NDArray[np.integer], classes: int, ignored: Collection[int] = ()
) -> Integers:
    """Return how often each class, in rows, was taken for each, in columns. Labels that are no class don't count."""
    labels, predicted = labels.reshape(-1).astype(np.int64), predicted.reshape(-1).astype(np.int64)
    counted = (labels >= 0) & (labels < classes) & ~np.isin(labels, list(ignored))
    pairs = labels[counted] * classes + predicted[counted]
    return np.bincount(pairs, minlength=classes**2).reshape(classes, classes)


@dataclass(frozen=True)
class PixelClass:
    """The scores of a class. A share of nothing is None."""

    label: int
    pixels: int
    accuracy: float | None  # the share of its pixels that are found
    iou: float | None  # intersection over union of its pixels and those taken for it


@dataclass(frozen=True)
class SegmentationScores:
    """Scores of counts of pixels, by label in rows and by predicted class in columns."""

    counts: Integers

    @property
    def _parts(self) -> tuple[Numbers, Numbers, Numbers]:
        """The pixels of each class that are found, that there are, and that are there or taken for it."""
        hits, there = self.counts.diagonal(), self.counts.sum(1)
        return hits.astype(np.float64), there.astype(np.float64), (there + self.counts.sum(0) - hits).astype(np.float64)

    @property
    def pixel_accuracy(self) -> float | None:
        """The share of all pixels that are right."""
        hits, there, _ = self._parts
        return _mean(_shares(hits.sum(keepdims=True), there.sum(keepdims=True)))

    @property
    def mean_accuracy(self) -> float | None:
        """The mean, over the classes that are there, of the share of their pixels that are found."""
        hits, there, _ = self._parts
        return _mean(_shares(hits, there))

    @property
    def mean_iou(self) -> float | None:
        """The mean intersection over union of the classes that are there or are predicted."""
        hits, _, either = self._parts
        return _mean(_shares(hits, either))

    @property
    def labelled_iou(self) -> float | None:
        """ParseNet's mean, over the classes that are there: one that is only predicted doesn't count."""
        hits, there, either = self._parts
        return _mean(_shares(hits, either)[there > 0])

    @property
    def weighted_iou(self) -> float | None:
        """The mean intersection over union of all classes by the numbers of their pixels."""
        hits, there, either = self._parts
        ious = np.nan_to_num(_shares(hits, either))
        return float((there * ious).sum() / there.sum()) if there.any() else None

    def by_class(self) -> list[PixelClass]:
        """Return the scores of every class."""
        hits, there, either = self._parts
        accuracies, ious = (_or_none(_shares(hits, whole)) for whole in (there, either))
        pixels = self.counts.sum(1).tolist()
        return [PixelClass(*row) for row in zip(range(len(pixels)), pixels, accuracies, ious, strict=True)]

    def summary(self) -> dict[str, float | None]:
        """Return the four numbers of papers about segmentation."""
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
