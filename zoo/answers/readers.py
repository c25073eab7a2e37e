"""Readers, which turn a net's outputs into answers, and the choice of blobs and reader.

The choice depends on layer types, or on a card.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from netdsl.errors import DataError, NetError
from netdsl.layer import Layer, Shape
from netdsl.layer.tops import MakesDetections, MakesIndices, MakesRegions
from netdsl.model.deploy.captioner import CaptionerParts
from netdsl.model.model import Model
from netdsl.net.build import Built
from netdsl.prediction.captions import CaptionGenerator
from netdsl.prediction.predictor import Predictor
from zoo.answers.answer import (
    Answer,
    AnswerSettings,
    Box,
    Boxes,
    Captions,
    Classes,
    ClassScore,
    Corners,
    ImageSize,
    Number,
    Numbers,
    Placement,
    Segment,
    Segments,
    Values,
)
from zoo.cards import Task

Outputs = Mapping[int, Numbers]  # a net's outputs for a batch, by edge

_OVERLAP = 0.3  # overlap above which only the better box stays, as in Faster R-CNN
_LARGEST_GROWTH = np.log(1000 / 16)  # maximum growth of a box, as a logarithm, so that numbers don't overflow
_MAP_TASKS = (Task.SEGMENTATION, Task.EDGES)  # tasks whose outputs may be smaller than their inputs
_AGNOSTIC = (
    8  # channels of box codes that are shared by all object classes: four for the background and four for objects
)
_VALUE_TASKS = (Task.EMBEDDING, Task.KEYPOINTS, Task.RECONSTRUCTION, Task.SEQUENCE)


@dataclass(frozen=True)
class ClassNames:
    """The names of labels. A label without a name is called by its number."""

    names: tuple[str, ...] = ()

    def __getitem__(self, label: int) -> str:
        return self.names[label] if 0 <= label < len(self.names) else str(label)


@dataclass(frozen=True)
class OutputReader(ABC):
    """Reads the answer about an image from the outputs for a batch."""

    LEAST_SCORE: ClassVar[float] = 0.01  # minimum score of detections in tests, as in SSD

    edge: int
    names: ClassNames

    @abstractmethod
    def read(self, outputs: Outputs, index: int, placement: Placement, settings: AnswerSettings) -> Answer:
        """Return the answer about the image at this index of the batch."""


class ClassReader(OutputReader):
    """Reads the scores of classes."""

    def read(self, outputs: Outputs, index: int, placement: Placement, settings: AnswerSettings) -> Classes:
        """Return the classes with the highest scores. Equal scores keep the order of classes."""
        scores = finite(outputs[self.edge][index]).ravel()
        best = np.argsort(-scores, kind="stable")[: settings.top].tolist()
        return Classes(tuple(ClassScore(label, self.names[label], float(scores[label])) for label in best))


class ScalarReader(OutputReader):
    """Reads a net's only number."""

    def read(self, outputs: Outputs, index: int, placement: Placement, settings: AnswerSettings) -> Number:
        """Return the number."""
        return Number(float(finite(outputs[self.edge][index]).item()))


class ValueReader(OutputReader):
    """Reads values of any shape."""

    def read(self, outputs: Outputs, index: int, placement: Placement, settings: AnswerSettings) -> Values:
        """Return all values."""
        return Values(finite(outputs[self.edge][index]))


class DetectionReader(OutputReader):
    """Reads rows with an image's index, a label, a score and a box in fractions of the crop."""

    def read(self, outputs: Outputs, index: int, placement: Placement, settings: AnswerSettings) -> Boxes:
        """Return the boxes of an image whose scores reach the threshold."""
        rows = outputs[self.edge].reshape(-1, 7)
        rows = finite(rows[(rows[:, 0] == index) & (rows[:, 1] >= 0)])
        rows = rows[rows[:, 2] >= settings.threshold]
        return boxes_of(rows[:, 1:], self.names, placement)


@dataclass(frozen=True)
class CaptionReader(OutputReader):
    """Writes captions from an image's features, which are the captioner's inputs with these names."""

    generator: CaptionGenerator
    features: Mapping[str, int]  # the edges of the features

    def read(self, outputs: Outputs, index: int, placement: Placement, settings: AnswerSettings) -> Captions:
        """Return the likeliest captions."""
        features = {name: finite(outputs[edge][index]) for name, edge in self.features.items()}
        return Captions(tuple(self.generator.write(features, settings.captions)[: settings.top]))


@dataclass(frozen=True)
class SegmentReader(OutputReader):
    """Reads a map of scores or, with `indices`, of the classes themselves."""

    indices: bool = False

    def read(self, outputs: Outputs, index: int, placement: Placement, settings: AnswerSettings) -> Segments:
        """Return the class of each pixel. If there is only one score, return whether it reaches the threshold."""
        scores = finite(outputs[self.edge][index])
        if self.indices:
            labels = scores[0].astype(np.int64)
        elif len(scores) == 1:
            labels = (scores[0] >= settings.threshold).astype(np.int64)
        else:
            labels = scores.argmax(0)
        found, counts = np.unique(labels, return_counts=True)
        pairs = sorted(zip(found.tolist(), counts.tolist(), strict=True), key=lambda pair: -pair[1])
        return Segments(tuple(Segment(label, self.names[label], count / labels.size) for label, count in pairs), labels)


def boxes_of(rows: Numbers, names: ClassNames, placement: Placement) -> Boxes:
    """Return boxes from rows with a label, a score and a box in fractions of the crop, from highest to lowest score."""
    found = []
    for label, score, *parts in rows[np.argsort(-rows[:, 1], kind="stable")].tolist():
        found.append(Box(int(label), names[int(label)], score, placement.corners(*parts)))
    return Boxes(tuple(found))


def finite(values: Numbers) -> Numbers:
    """Return the values. Raises a DataError if they aren't finite, since they mean nothing then."""
    if not np.isfinite(values).all():
        raise DataError("the net's output for this image isn't finite; check the weights")
    return values


@dataclass(frozen=True)
class RegionReader(OutputReader):
    """Reads regions in the net's own pixels, with scores (region, class), background first, and box codes.

    As in py-faster-rcnn, the net's boxes include their last pixel. The answer's boxes end after it.
    """

    LEAST_SCORE = 0.05

    scores: int = -1  # the edges of the scores and codes
    codes: int = -1

    def read(self, outputs: Outputs, index: int, placement: Placement, settings: AnswerSettings) -> Boxes:
        """Return the boxes of an image whose scores reach the threshold, without those that overlap a better box of
        their class."""
        regions = finite(outputs[self.edge].reshape(-1, 5))
        mine = regions[:, 0] == index
        scores, codes = (finite(outputs[edge].reshape(len(regions), -1)[mine]) for edge in (self.scores, self.codes))
        regions = placement.boxes_on_image(regions[mine, 1:])
        found = list[Box]()
        for label in range(1, scores.shape[1]):
            # Or shared by all classes, after the background.
            own = label if codes.shape[1] == 4 * scores.shape[1] else 1
            sure = scores[:, label] >= settings.threshold
            boxes = _within_image(_moved_boxes(regions[sure], codes[sure, 4 * own : 4 * own + 4]), placement.image)
            kept = _without_overlaps(boxes, scores[sure, label])
            edges = (boxes[kept] + [0, 0, 1, 1]).tolist()
            pairs = zip(scores[sure, label][kept].tolist(), edges, strict=True)
            found += [Box(label, self.names[label], score, Corners(*corners)) for score, corners in pairs]
        return Boxes(tuple(sorted(found, key=lambda box: -box.score)))


def _moved_boxes(boxes: Numbers, codes: Numbers) -> Numbers:
    """Return boxes after their codes have moved and stretched them. The boxes include their last pixels."""
    sizes = boxes[:, 2:] - boxes[:, :2] + 1
    centres = boxes[:, :2] + sizes / 2 + codes[:, :2] * sizes
    sizes = sizes * np.exp(np.minimum(codes[:, 2:], _LARGEST_GROWTH))
    return np.concatenate([centres - sizes / 2, centres + sizes / 2], 1)


def _within_image(boxes: Numbers, image: ImageSize) -> Numbers:
    """Return boxes clipped to the image."""
    return np.clip(boxes, 0, np.array([image.width, image.height] * 2) - 1)


def _without_overlaps(boxes: Numbers, scores: Numbers) -> list[int]:
    """Return the indices of boxes that no better box overlaps, from best to worst."""
    order, kept = np.argsort(-scores, kind="stable"), list[int]()
    while len(order):
        best, others = order[0], order[1:]
        kept.append(int(best))
        order = others[_overlaps(boxes[best], boxes[others]) <= _OVERLAP]
    return kept


def _overlaps(box: Numbers, others: Numbers) -> Numbers:
    """Return the overlap of a box with each of the others: intersection over union."""
    sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    common = np.maximum(sides + 1, 0).prod(1)
    areas = (others[:, 2:] - others[:, :2] + 1).prod(1)
    overlaps: Numbers = common / ((box[2:] - box[:2] + 1).prod() + areas - common)
    return overlaps


@dataclass(frozen=True)
class NetOutput:
    """The blobs of a net's answer, or none if the answer is the net's prediction."""

    predictor: Predictor
    blobs: tuple[str, ...]
    task: Task | None
    note: str = ""  # a notice for the user about the choice

    @property
    def edge(self) -> int:
        """The edge of the answer's first blob."""
        edge = self.predictor.outputs[self.blobs[0]] if self.blobs else self.predictor.prediction
        assert edge is not None
        return edge

    @property
    def _answer_layer(self) -> Layer:
        return _maker_of(self.predictor.built, self.edge)

    @property
    def _answer_shape(self) -> Shape:
        return self.predictor.built.shapes[self.edge]

    @property
    def labels(self) -> int | None:
        """The number of labels, including the background, or `None` if it is unknown."""
        if isinstance(self._answer_layer, MakesDetections):
            return self._answer_layer.label_count()
        if isinstance(self._answer_layer, MakesRegions):
            return self.predictor.built.shapes[self.predictor.outputs[self.blobs[1]]][1]
        if isinstance(self._answer_layer, MakesIndices) and self._answer_layer.makes_indices():
            return None
        return self._answer_shape[1] if len(self._answer_shape) > 1 else None

    def names(self, names: Sequence[str]) -> ClassNames | None:
        """Return the names of labels. If only the background lacks a name, add it. Returns `None` if the numbers of
        names and labels differ."""
        if not names or self.labels in (None, len(names)):
            return ClassNames(tuple(names))
        background = self._answer_layer.background() if isinstance(self._answer_layer, MakesDetections) else None
        background = 0 if isinstance(self._answer_layer, MakesRegions) else background
        if background is None or self.labels != len(names) + 1:
            return None
        return ClassNames((*names[:background], "background", *names[background:]))

    def reader(self, names: ClassNames, size: ImageSize) -> OutputReader:
        """Return a reader for the answer of a net with images of this size."""
        layer, shape = self._answer_layer, self._answer_shape
        if isinstance(layer, MakesDetections):
            return DetectionReader(self.edge, names)
        if isinstance(layer, MakesRegions):
            _, scores, codes = (self.predictor.outputs[blob] for blob in self.blobs)
            return RegionReader(self.edge, names, scores, codes)
        if self.task not in _VALUE_TASKS and _is_map(shape) and (shape[2:] == size or self.task in _MAP_TASKS):
            return SegmentReader(self.edge, names, isinstance(layer, MakesIndices) and layer.makes_indices())
        if self.task in _VALUE_TASKS or math.prod(shape[2:]) != 1:
            return ValueReader(self.edge, names)
        return (ClassReader if math.prod(shape[1:]) > 1 else ScalarReader)(self.edge, names)


def find_output(model: Model, blob: str | None, task: Task | None) -> NetOutput:
    """Return the answer of a deployed model: the named blob, the model's prediction, or the output of a detector's
    layers."""
    if blob is not None:
        return NetOutput(Predictor(model, (blob,)), (blob,), task)
    predictor = Predictor(model)
    if predictor.prediction is not None:
        return NetOutput(predictor, (), task)
    built = model.settled(model.phases[0]).built
    outputs = {edge: built.graph.blobs[edge] for edge in built.graph.outputs}
    blobs = _detecting_blobs(built, outputs)
    if not blobs and task in _MAP_TASKS and outputs:  # earlier outputs only help training
        last = outputs[max(outputs)]
        note = (
            f"the net has several outputs, {_output_names(outputs)}; the answer is the last one, or the one that "
            "--blob names"
        )
        return NetOutput(Predictor(model, (last,)), (last,), task, note)
    if not blobs:
        raise NetError(f"the net has several outputs, {_output_names(outputs)}; name the one to read with --blob")
    return NetOutput(Predictor(model, blobs), blobs, task)


def features_output(parts: CaptionerParts) -> NetOutput:
    """Return the image features that a model computes for captions."""
    if not any(layer.bottom for layer in parts.image.net.layer):
        features = ", ".join(f"'{name}'" for name in parts.features)
        raise NetError(
            f"the net reads features of an image, {features}, that another net computes; name that net with "
            "--features-net"
        )
    return NetOutput(Predictor(parts.image, parts.features), parts.features, None)


def _detecting_blobs(built: Built, outputs: Mapping[int, str]) -> tuple[str, ...]:
    """Return the names of the blobs in a detector's answer, or nothing if the net isn't a detector."""
    for edge, name in outputs.items():
        if isinstance(_maker_of(built, edge), MakesDetections):
            return (name,)
    regions = [built.graph.blobs[node.tops[0]] for node, layer in built.pairs() if isinstance(layer, MakesRegions)]
    flat = {edge: built.shapes[edge][1] for edge in outputs if math.prod(built.shapes[edge][2:]) == 1}
    if regions and len(flat) == 2:
        scores, codes = sorted(flat, key=lambda edge: _are_codes(flat[edge], flat.values()))
        return regions[0], outputs[scores], outputs[codes]
    return ()


def _are_codes(channels: int, of_both: Collection[int]) -> bool:
    """Return whether an output contains box codes: four numbers for each class or, as in R-FCN, for the background and
    for objects."""
    return channels == 4 * min(of_both) or (channels == _AGNOSTIC and 4 * channels not in of_both)


def _output_names(outputs: Mapping[int, str]) -> str:
    return ", ".join(outputs.values()) or "none"


def _maker_of(built: Built, edge: int) -> Layer:
    return next(layer for node, layer in built.pairs() if edge in node.tops)


def _is_map(shape: Shape) -> bool:
    return len(shape) == 4 and math.prod(shape[2:]) > 1
