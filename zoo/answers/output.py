"""How a net's outputs are read as answers, which the types of its layers say, or its card."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from netdsl.errors import DataError
from netdsl.prediction.captions import CaptionGenerator
from zoo.answers.answer import (
    Answer,
    AnswerSettings,
    Box,
    Boxes,
    Captions,
    Classes,
    ClassScore,
    Number,
    Segment,
    Segments,
    Values,
)
from zoo.answers.placement import Numbers, Placement

Outputs = Mapping[int, Numbers]  # a net's outputs for a batch, by their edges


@dataclass(frozen=True)
class ClassNames:
    """The names of labels; without names, or beyond them, a label's number is its name."""

    names: tuple[str, ...] = ()

    def __getitem__(self, label: int) -> str:
        return self.names[label] if 0 <= label < len(self.names) else str(label)


@dataclass(frozen=True)
class OutputReader(ABC):
    """Reads what a net says about an image out of the outputs for a batch."""

    LEAST_SCORE: ClassVar[float] = 0.01  # that detections count from on in tests: SSD's own

    edge: int
    names: ClassNames

    @abstractmethod
    def read(self, outputs: Outputs, index: int, placement: Placement, settings: AnswerSettings) -> Answer:
        """The answer about the image with this place in the batch."""


class ClassReader(OutputReader):
    """Reads the scores of classes."""

    def read(self, outputs: Outputs, index: int, placement: Placement, settings: AnswerSettings) -> Classes:
        """The classes of the highest scores; of equal ones the first."""
        scores = finite(outputs[self.edge][index]).ravel()
        best = np.argsort(-scores, kind="stable")[: settings.top].tolist()
        return Classes(tuple(ClassScore(label, self.names[label], float(scores[label])) for label in best))


class ScalarReader(OutputReader):
    """Reads a net's only number."""

    def read(self, outputs: Outputs, index: int, placement: Placement, settings: AnswerSettings) -> Number:
        """The number."""
        return Number(float(finite(outputs[self.edge][index]).item()))


class ValueReader(OutputReader):
    """Reads values of any shape."""

    def read(self, outputs: Outputs, index: int, placement: Placement, settings: AnswerSettings) -> Values:
        """All values."""
        return Values(finite(outputs[self.edge][index]))


class DetectionReader(OutputReader):
    """Reads rows of an image's index, a label, a score and a box in parts of what the net sees."""

    def read(self, outputs: Outputs, index: int, placement: Placement, settings: AnswerSettings) -> Boxes:
        """The boxes of an image that are sure enough."""
        rows = outputs[self.edge].reshape(-1, 7)
        rows = finite(rows[(rows[:, 0] == index) & (rows[:, 1] >= 0)])
        rows = rows[rows[:, 2] >= settings.threshold]
        return boxes_of(rows[:, 1:], self.names, placement)


@dataclass(frozen=True)
class CaptionReader(OutputReader):
    """Lets a net write captions, from an image's features that are its inputs by these names."""

    generator: CaptionGenerator
    features: Mapping[str, int]  # the edges of their values

    def read(self, outputs: Outputs, index: int, placement: Placement, settings: AnswerSettings) -> Captions:
        """The likeliest captions."""
        features = {name: finite(outputs[edge][index]) for name, edge in self.features.items()}
        return Captions(tuple(self.generator.write(features, settings.captions)[: settings.top]))


@dataclass(frozen=True)
class SegmentReader(OutputReader):
    """Reads a map of scores or, where `indices`, of the classes themselves."""

    indices: bool = False

    def read(self, outputs: Outputs, index: int, placement: Placement, settings: AnswerSettings) -> Segments:
        """The class of each pixel; with one score, whether it is sure enough."""
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
    """Boxes of rows with a label, a score and a box in parts of what the net sees; the surest first."""
    found = []
    for label, score, *parts in rows[np.argsort(-rows[:, 1], kind="stable")].tolist():
        found.append(Box(int(label), names[int(label)], score, placement.corners(*parts)))
    return Boxes(tuple(found))


def finite(values: Numbers) -> Numbers:
    """The values; a DataError if they aren't finite, since then they say nothing."""
    if not np.isfinite(values).all():
        raise DataError("what the net makes of it isn't finite")
    return values
