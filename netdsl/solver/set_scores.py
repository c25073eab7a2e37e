"""Scores of whole test sets, which are no means over batches: of detections that layers judge, and of segmentations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from netdsl.layer.measuring import ComparesClasses, JudgesDetections
from netdsl.net.build import Built
from netdsl.scores.boxes import DetectedBoxes, ObjectBoxes
from netdsl.scores.coco import CocoScores, score_as_coco
from netdsl.scores.precision import JudgedDetections, PrecisionRule, PrecisionTable, precision_table
from netdsl.scores.segmentation import SegmentationScores, count_confusions


@dataclass
class DetectionTest:
    """The detections of all batches that a layer judged. `blob` is its top."""

    blob: str
    layer: JudgesDetections
    parts: list[JudgedDetections] = field(default_factory=list)
    boxes: list[tuple[DetectedBoxes, ObjectBoxes]] = field(default_factory=list)
    images: int = 0  # in the batches before

    def record(self, layer: nn.Module, bottoms: tuple[Tensor, ...], top: Any) -> None:
        """Take what a batch gave."""
        self.parts.append(self.layer.judged(_values(top)))
        boxes = self.layer.boxes([_values(bottom) for bottom in bottoms])
        if boxes is not None:
            detected, objects = boxes[0].after(self.images), boxes[1].after(self.images)
            self.boxes.append((detected, objects))
            numbers = np.concatenate([detected.image, objects.image])
            self.images = int(numbers.max(initial=self.images - 1)) + 1

    def table(self, rule: PrecisionRule) -> PrecisionTable:
        """The average precision of every class, by what the layer calls right."""
        return precision_table(JudgedDetections.join(self.parts), rule)

    def coco(self) -> CocoScores | None:
        """COCO's scores, of which those by size say nothing; None if the layer can't say what it compared."""
        if not self.boxes:
            return None
        detected, objects = zip(*self.boxes, strict=True)
        return score_as_coco(DetectedBoxes.join(detected), ObjectBoxes.join(objects))


@dataclass
class SegmentationTest:
    """How often each class was taken for each, at the places of all batches. `blob` has the scores of classes."""

    blob: str
    classes: int
    ignored: set[int]
    counts: NDArray[np.int64]

    def record(self, layer: nn.Module, bottoms: tuple[Tensor, ...], top: Any) -> None:
        """Count the places of a batch."""
        scores, labels = bottoms[:2]
        predicted = scores.detach().argmax(1).cpu().numpy()
        self.counts += count_confusions(labels.cpu().numpy(), predicted, self.classes, self.ignored)

    @property
    def scores(self) -> SegmentationScores:
        """The scores of all batches."""
        return SegmentationScores(self.counts)


@dataclass(frozen=True)
class SetScores:
    """What is gathered while a net is tested."""

    detections: tuple[DetectionTest, ...] = ()
    segmentations: tuple[SegmentationTest, ...] = ()


@contextmanager
def gather_scores(built: Built) -> Iterator[SetScores]:
    """Gather the scores of all batches that the net runs on; it isn't compiled then, since that calls no new hooks."""
    pairs = list(built.pairs())
    judging = [(built.graph.blobs[node.tops[0]], layer) for node, layer in pairs if isinstance(layer, JudgesDetections)]
    detections = [DetectionTest(blob, layer) for blob, layer in judging]
    with ExitStack() as stack:
        stack.enter_context(torch.compiler.set_stance("force_eager"))
        for test in detections:
            stack.callback(test.layer.register_forward_hook(test.record).remove)
        segmentations = _segmentations(built, stack)
        yield SetScores(tuple(detections), segmentations)


def _segmentations(built: Built, stack: ExitStack) -> tuple[SegmentationTest, ...]:
    """A test for each pair of scores and labels that layers compare; the first layer of each is listened to."""
    tests: dict[Sequence[int], SegmentationTest] = {}
    for node, layer in built.pairs():
        if not (isinstance(layer, ComparesClasses) and _compares_pixels(built, node.bottoms, layer.axis)):
            continue
        key, classes = node.bottoms[:2], built.shapes[node.bottoms[0]][1]
        if key not in tests:
            counts = np.zeros((classes, classes), np.int64)
            tests[key] = SegmentationTest(built.graph.blobs[key[0]], classes, set(), counts)
            stack.callback(layer.register_forward_hook(tests[key].record).remove)
        tests[key].ignored.update(layer.ignored_labels())
    return tuple(tests.values())


def _compares_pixels(built: Built, bottoms: Sequence[int], axis: int) -> bool:
    """Whether scores have several classes for each of several places of an image."""
    shape = built.shapes[bottoms[0]]
    return len(shape) == 4 and axis == 1 and shape[1] > 1 and math.prod(shape[2:]) > 1


def _values(blob: Tensor) -> NDArray[np.float64]:
    return np.asarray(blob.detach().double().cpu().numpy())
