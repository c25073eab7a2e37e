"""What layers measure that is scored over a whole test set: which detections are right, classes of places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from netdsl.layer.deploying import NotDeployed
from netdsl.scores.boxes import DetectedBoxes, ObjectBoxes
from netdsl.scores.precision import JudgedDetections


class JudgesDetections(NotDeployed):
    """A layer whose top says which detections are right; there is a row for each, so it has no mean over batches."""

    predictions: ClassVar[tuple[int, ...]] = (0,)

    def judged(self, top: NDArray[np.float64]) -> JudgedDetections:
        """What the top says."""
        raise NotImplementedError

    def boxes(self, bottoms: Sequence[NDArray[np.float64]]) -> tuple[DetectedBoxes, ObjectBoxes] | None:
        """The detections and the objects that it compared, numbered by their images in the batch; None if it can't say.

        Boxes are in parts of the image.
        """
        return None


class ComparesClasses(NotDeployed):
    """A layer that compares the scores of classes, its first bottom, with labels, its second one."""

    axis: int  # of the classes

    def ignored_labels(self) -> Sequence[int]:
        """The labels that don't count."""
        raise NotImplementedError
