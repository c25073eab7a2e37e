"""The scores of a test set as a table of classes, for detection and segmentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netdsl.scores.coco import CocoScores
from netdsl.scores.precision import JudgedDetections, PrecisionRule, precision_table
from netdsl.scores.segmentation import SegmentationScores
from netdsl.solver.evaluation import DetectionTest, SegmentationTest, SetScores
from zoo.cards import Task


@dataclass(frozen=True)
class ScoredClass:
    """The scores of one class by name. A score is `None` if the class isn't in the set."""

    label: int
    name: str
    count: int  # number of its objects or pixels
    scores: Mapping[str, float | None]


@dataclass(frozen=True)
class ScoreTable:
    """The scores of a blob: those of the whole set by name, and those of all classes."""

    blob: str
    task: Task
    counted: str  # whether the classes count objects or pixels
    totals: Mapping[str, float | None]
    classes: tuple[ScoredClass, ...]

    def plain(self) -> dict[str, Any]:
        """Return the table as JSON values. Each class contains its number of objects or pixels."""
        classes = [
            {"label": each.label, "name": each.name, self.counted: each.count, "scores": each.scores}
            for each in self.classes
        ]
        return {"blob": self.blob, "task": self.task, "scores": self.totals, "classes": classes}

    @property
    def score_names(self) -> list[str]:
        """The names of the scores of a class."""
        return [name for each in self.classes[:1] for name in each.scores]


def score_tables(scores: SetScores, names: Sequence[str]) -> tuple[ScoreTable, ...]:
    """Return a table for each scored blob. Classes that are neither in the set nor found are left out."""
    detections = [_of_detections(test, names) for test in scores.detections if test.parts]
    segmentations = [_of_segmentation(test, names) for test in scores.segmentations if test.counts.any()]
    return (*detections, *segmentations)


def _of_detections(test: DetectionTest, names: Sequence[str]) -> ScoreTable:
    return detection_table(test.blob, JudgedDetections.join(test.parts), test.coco(), names)


def detection_table(blob: str, judged: JudgedDetections, coco: CocoScores | None, names: Sequence[str]) -> ScoreTable:
    """Return the table of evaluated detections, with the scores of VOC and COCO."""
    rules = (PrecisionRule.VOC_2007, PrecisionRule.VOC_2010)
    tables = {rule.value: precision_table(judged, rule) for rule in rules}
    totals = {f"mAP {rule}": table.mean for rule, table in tables.items()}
    of_coco: Mapping[int, float | None] = {}
    if coco is not None:
        totals |= {"mAP COCO": coco.precision(), "mAP COCO at 0.75": coco.precision(overlap=0.75)}
        of_coco = {each.label: each.precision for each in coco.by_class()}
    classes = []
    counted = tables[PrecisionRule.VOC_2007.value].classes
    named = _class_names(names, [each.label for each in counted])
    for index, each in enumerate(counted):
        averages = {rule: table.classes[index].average for rule, table in tables.items()}
        averages |= {"COCO": of_coco.get(each.label)} if coco is not None else {}
        if each.objects or each.detections:
            classes.append(ScoredClass(each.label, named[index], each.objects, averages))
    return ScoreTable(blob, Task.DETECTION, "objects", totals, tuple(classes))


def _of_segmentation(test: SegmentationTest, names: Sequence[str]) -> ScoreTable:
    return segmentation_table(test.blob, test.scores, names)


def segmentation_table(blob: str, scores: SegmentationScores, names: Sequence[str]) -> ScoreTable:
    """Return the table of segmentation scores."""
    classes, named = list[ScoredClass](), _class_names(names, range(len(scores.counts)))
    for each in scores.by_class():
        if each.iou is not None:
            shares = {"accuracy": each.accuracy, "IoU": each.iou}
            classes.append(ScoredClass(each.label, named[each.label], each.pixels, shares))
    return ScoreTable(blob, Task.SEGMENTATION, "pixels", scores.summary(), tuple(classes))


def _class_names(names: Sequence[str], labels: Sequence[int]) -> list[str]:
    """Return the names of labels. `names` covers either these labels only, or all labels from 0. Without names, return
    the numbers."""
    if len(names) == len(labels):
        return list(names)
    return [names[label] if label < len(names) else str(label) for label in labels]
