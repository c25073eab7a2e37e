"""What tops mean to those who use, score or learn from them: detections, regions, classes, targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from netdsl.layer.core import Layer
from netdsl.layer.deploying import NotDeployed
from netdsl.scores.boxes import DetectedBoxes, ObjectBoxes
from netdsl.scores.precision import JudgedDetections

Rows = tuple[tuple[float, ...], ...]


class MakesDetections(Layer):
    """A layer whose top has a row for each detection: image, label, score, left, top, right, bottom.

    Boxes are in parts of the image's width and height. A row with a negative label is there for an image without any.
    """

    def label_count(self) -> int:
        """Return how many labels there are, the background among them."""
        raise NotImplementedError

    def background(self) -> int | None:
        """Return the label of what is nothing; None if all labels are classes."""
        return 0


class MakesRegions(Layer):
    """A layer whose first top has a row for each region that may be an object: image, left, top, right, bottom.

    Boxes are in pixels of the net's input, whose last pixels belong to them.
    """

    def keep_regions(self, most: int) -> None:
        """Make at most this many regions of an image from now on, of all that there are."""
        raise NotImplementedError


class MakesIndices(Layer):
    """A layer whose top may have the indices of classes in place of their scores."""

    index_axis: ClassVar[int] = 1  # the axis of scores that became one of indices

    def makes_indices(self) -> bool:
        """Return whether the top has indices of that axis alone."""
        raise NotImplementedError


class JudgesDetections(NotDeployed):
    """A layer whose top says which detections are right; there is a row for each, so it has no mean over batches."""

    predictions: ClassVar[tuple[int, ...]] = (0,)

    def judged(self, top: NDArray[np.float64]) -> JudgedDetections:
        """Return what the top says."""
        raise NotImplementedError

    def boxes(self, bottoms: Sequence[NDArray[np.float64]]) -> tuple[DetectedBoxes, ObjectBoxes] | None:
        """Return the detections and the objects that it compared, numbered by their images in the batch; None if it
        can't say.

        Boxes are in parts of the image.
        """
        return None


class ComparesClasses(NotDeployed):
    """A layer that compares the scores of classes, its first bottom, with labels, its second one."""

    axis: int  # of the classes

    def ignored_labels(self) -> Sequence[int]:
        """Return the labels that don't count."""
        raise NotImplementedError


@dataclass(frozen=True)
class TargetUnits:
    """The means that were taken off targets, and the deviations that they were divided by then.

    Both have a row for each class, or for each anchor, with a number for each value that is predicted.
    """

    means: Rows
    deviations: Rows


class NormalizesTargets(Layer):
    """A layer one of whose tops has targets in units of their own.

    What a net learns from them predicts in these units, so its weights are changed where they are saved to be used.
    """

    targets_top: ClassVar[int]

    def target_units(self) -> TargetUnits | None:
        """Return the units of the targets; None if they are as they are used."""
        raise NotImplementedError
