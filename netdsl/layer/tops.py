"""The meaning of tops for code that uses, scores or trains on them: detections, regions, classes and targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from netdsl.layer.core import Layer
from netdsl.layer.deploying import NotDeployed
from netdsl.scores.boxes import DetectedBoxes, ObjectBoxes
from netdsl.scores.precision import JudgedDetections

Rows = tuple[tuple[float, ...], ...]


class Meaning(Enum):
    """What the values of a blob are."""

    CLASSES = "scores of classes"
    VALUES = "values that were trained as such"
    EMBEDDING = "an embedding"


class ShowsMeaning(Layer):
    """A layer whose type shows the meaning of a net's answer.

    The answer is the bottoms in `predictions` for a layer that isn't deployed. For other layers, it is the first bottom
    and the first top, if no layer after them reads the top.
    """

    meaning: ClassVar[Meaning]


class MakesDetections(Layer):
    """A layer whose top has a row for each detection: image, label, score, left, top, right, bottom.

    Boxes are in fractions of the image's width and height. A row with a negative label stands for an image without
    detections.
    """

    def label_count(self) -> int:
        """Return the number of labels, including the background."""
        raise NotImplementedError

    def background(self) -> int | None:
        """Return the label of the background, or `None` if all labels are classes."""
        return 0


class MakesRegions(Layer):
    """A layer whose first top has a row for each region that may be an object: image, left, top, right, bottom.

    Boxes are in pixels of the net's input and include their last pixels.
    """

    def keep_regions(self, most: int) -> None:
        """Make at most `most` regions per image from now on, chosen among all regions."""
        raise NotImplementedError


class MakesIndices(Layer):
    """A layer whose top may contain the indices of classes instead of their scores."""

    index_axis: ClassVar[int] = 1  # the axis of the scores, whose indices the top contains

    def makes_indices(self) -> bool:
        """Return whether the top contains only indices along that axis."""
        raise NotImplementedError


class JudgesDetections(NotDeployed):
    """A layer whose top marks correct detections.

    It has one row for each, so that averaging over batches isn't possible.
    """

    predictions: ClassVar[tuple[int, ...]] = (0,)

    def judged(self, top: NDArray[np.float64]) -> JudgedDetections:
        """Return the top's contents."""
        raise NotImplementedError

    def boxes(self, bottoms: Sequence[NDArray[np.float64]]) -> tuple[DetectedBoxes, ObjectBoxes] | None:
        """Return the compared detections and objects, or `None` if they are unknown.

        Images are numbered within the batch. Boxes are in fractions of the image.
        """
        return None


class ComparesClasses(NotDeployed, ShowsMeaning):
    """A layer that compares the scores of classes, its first bottom, with labels, its second bottom."""

    meaning = Meaning.CLASSES
    axis: int  # the axis of the classes

    def ignored_labels(self) -> Sequence[int]:
        """Return the labels that don't count."""
        raise NotImplementedError


@dataclass(frozen=True)
class TargetUnits:
    """The means that were subtracted from targets, and the deviations by which they were divided.

    Both have a row for each class or anchor, with one number for each predicted value.
    """

    means: Rows
    deviations: Rows


class NormalizesTargets(Layer):
    """A layer one of whose tops contains normalized targets.

    A net learns to predict in these units, so its weights are converted when they are saved for use.
    """

    targets_top: ClassVar[int]

    def target_units(self) -> TargetUnits | None:
        """Return the units of the targets, or `None` if they aren't normalized."""
        raise NotImplementedError
