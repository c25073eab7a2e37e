"""Average precision: a detector's precision at all recalls in one number for each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from netdsl.scores.boxes import Flags, Integers, Numbers


class PrecisionRule(Enum):
    """The rule that combines the precisions at all recalls. The rules of Caffe-SSD are named as in its `ap_version`."""

    VOC_2007 = "VOC 2007"  # the mean of the best precisions from each of 11 recalls on
    VOC_2010 = "VOC 2010"  # the integral of the best precision from each recall on
    COCO = "COCO"  # the mean of the best precisions from each of 101 recalls on
    SSD_11_POINTS = "11point"
    SSD_101_POINTS = "101point"  # from a fork of Caffe-SSD
    SSD_MAX_INTEGRAL = "MaxIntegral"
    SSD_INTEGRAL = "Integral"  # the integral of the precision itself


_POINTS: Mapping[PrecisionRule, NDArray[np.float64]] = {
    # As in VOC's program, where the fourth recall is slightly more than 3 / 10.
    PrecisionRule.VOC_2007: np.arange(0, 1.1, 0.1),
    PrecisionRule.COCO: np.linspace(0, 1, 101),
    PrecisionRule.SSD_11_POINTS: np.arange(11) / 10,
    PrecisionRule.SSD_101_POINTS: np.arange(101) / 100,
}
_SINGLE = (PrecisionRule.SSD_11_POINTS, PrecisionRule.SSD_101_POINTS)  # Caffe's recalls are float32, where 7 / 10 < 0.7


@dataclass(frozen=True)
class JudgedDetections:
    """Detections that are right, wrong or neither, and the number of objects to find for each label."""

    label: Integers
    score: Numbers
    right: Flags
    wrong: Flags
    objects: Mapping[int, int]

    @staticmethod
    def join(parts: Sequence[JudgedDetections]) -> JudgedDetections:
        """Return the detections and the objects of several parts, such as batches."""
        objects: dict[int, int] = {}
        for part in parts:
            for label, count in part.objects.items():
                objects[label] = objects.get(label, 0) + count
        return JudgedDetections(
            np.concatenate([part.label for part in parts]),
            np.concatenate([part.score for part in parts]),
            np.concatenate([part.right for part in parts]),
            np.concatenate([part.wrong for part in parts]),
            objects,
        )


@dataclass(frozen=True)
class ClassPrecision:
    """The average precision of a class, or `None` if it has no objects."""

    label: int
    objects: int
    detections: int  # the number of right and wrong detections
    average: float | None


@dataclass(frozen=True)
class PrecisionTable:
    """The average precisions of all classes."""

    classes: tuple[ClassPrecision, ...]

    @property
    def mean(self) -> float | None:
        """The mean over the classes that have objects, or `None` if no class has any."""
        averages = [each.average for each in self.classes if each.average is not None]
        return sum(averages) / len(averages) if averages else None

    @property
    def mean_in_caffe(self) -> float:
        """The mean by Caffe's rule, in which a class without objects counts as 0."""
        return sum(each.average or 0.0 for each in self.classes) / max(1, len(self.classes))


def precision_table(judged: JudgedDetections, rule: PrecisionRule) -> PrecisionTable:
    """Return the average precision of each class with a known number of objects, ordered by label."""
    counted = judged.right | judged.wrong
    label, score, right = judged.label[counted], judged.score[counted], judged.right[counted]
    order = np.lexsort((-score, label))  # the sort is stable for equal scores
    label, right = label[order], right[order]
    classes = []
    for each, objects in sorted(judged.objects.items()):
        own = right[np.searchsorted(label, each, "left") : np.searchsorted(label, each, "right")]
        average = average_precision(own, ~own, objects, rule) if objects else None
        classes.append(ClassPrecision(each, objects, len(own), average))
    return PrecisionTable(tuple(classes))


def average_precision(right: Flags, wrong: Flags, objects: int, rule: PrecisionRule) -> float:
    """Return the average precision of one class, whose detections are ordered from the highest score to the lowest."""
    found = np.cumsum(right, dtype=np.float64)
    recall, precision = found / objects, found / np.maximum(found + np.cumsum(wrong), np.finfo(np.float64).eps)
    if rule is PrecisionRule.SSD_INTEGRAL:
        return float(np.sum(np.diff(recall, prepend=0) * precision))
    best = np.maximum.accumulate(precision[::-1])[::-1]
    if rule not in _POINTS:
        return float(np.sum(np.diff(recall, prepend=0) * best))
    if rule in _SINGLE:
        recall = recall.astype(np.float32).astype(np.float64)
    return float(np.append(best, 0.0)[np.searchsorted(recall, _POINTS[rule], "left")].mean())
