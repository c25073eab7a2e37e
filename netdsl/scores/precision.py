"""Average precision: what precision a detector has at each recall, in one number for each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from netdsl.scores.boxes import Flags, Integers, Numbers


class PrecisionRule(Enum):
    """How precisions at all recalls become one number. Those of Caffe-SSD have the names of its `ap_version`."""

    VOC_2007 = "VOC 2007"  # the mean of the best precisions from 11 recalls on
    VOC_2010 = "VOC 2010"  # the integral of the best precision from each recall on
    COCO = "COCO"  # the mean of the best precisions from 101 recalls on
    SSD_11_POINTS = "11point"
    SSD_101_POINTS = "101point"  # of a fork of its fork
    SSD_MAX_INTEGRAL = "MaxIntegral"
    SSD_INTEGRAL = "Integral"  # the integral of the precision itself


_POINTS: Mapping[PrecisionRule, NDArray[np.float64]] = {
    PrecisionRule.VOC_2007: np.arange(0, 1.1, 0.1),  # as VOC's program has them: the fourth is more than 3 / 10
    PrecisionRule.COCO: np.linspace(0, 1, 101),
    PrecisionRule.SSD_11_POINTS: np.arange(11) / 10,
    PrecisionRule.SSD_101_POINTS: np.arange(101) / 100,
}
_SINGLE = (PrecisionRule.SSD_11_POINTS, PrecisionRule.SSD_101_POINTS)  # Caffe's recalls are float32: 7 / 10 < 0.7


@dataclass(frozen=True)
class JudgedDetections:
    """Detections that are right, wrong, or neither, and how many objects of each label were to be found."""

    label: Integers
    score: Numbers
    right: Flags
    wrong: Flags
    objects: Mapping[int, int]

    @staticmethod
    def join(parts: Sequence[JudgedDetections]) -> JudgedDetections:
        """Return the detections of several parts, such as batches, and all objects."""
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
    """The average precision of a class; None if there is no object of it."""

    label: int
    objects: int
    detections: int  # that are right or wrong
    average: float | None


@dataclass(frozen=True)
class PrecisionTable:
    """The average precisions of all classes."""

    classes: tuple[ClassPrecision, ...]

    @property
    def mean(self) -> float | None:
        """The mean over the classes that have objects; None if none has any."""
        averages = [each.average for each in self.classes if each.average is not None]
        return sum(averages) / len(averages) if averages else None

    @property
    def mean_in_caffe(self) -> float:
        """Caffe's rule: a class without objects counts as 0."""
        return sum(each.average or 0.0 for each in self.classes) / max(1, len(self.classes))


def precision_table(judged: JudgedDetections, rule: PrecisionRule) -> PrecisionTable:
    """Return the average precision of every class that is counted, in the order of labels."""
    counted = judged.right | judged.wrong
    label, score, right = judged.label[counted], judged.score[counted], judged.right[counted]
    order = np.lexsort((-score, label))  # detections of equal scores stay in their order
    label, right = label[order], right[order]
    classes = []
    for each, objects in sorted(judged.objects.items()):
        own = right[np.searchsorted(label, each, "left") : np.searchsorted(label, each, "right")]
        average = average_precision(own, ~own, objects, rule) if objects else None
        classes.append(ClassPrecision(each, objects, len(own), average))
    return PrecisionTable(tuple(classes))


def average_precision(right: Flags, wrong: Flags, objects: int, rule: PrecisionRule) -> float:
    """Return the average precision of one class, whose detections come from the highest score to the lowest."""
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
