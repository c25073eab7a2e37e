"""The confusion of classes: how often each was taken for each other one, and what follows for every class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netdsl.scores.segmentation import count_confusions


@dataclass(frozen=True)
class ClassScores:
    """How well a class is recognised. A share of nothing is None."""

    name: str
    items: int
    precision: float | None  # the share of the items taken for it that are of it
    recall: float | None  # the share of its items that are taken for it
    f1: float | None  # the harmonic mean of both


@dataclass(frozen=True)
class ConfusedPair:
    """How often items of one class were taken for another."""

    label: str
    predicted: str
    count: int
    share: float  # of the items of the class


@dataclass(frozen=True)
class Confusion:
    """Counts of items, by label in rows and by predicted class in columns."""

    classes: tuple[str, ...]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, labels: NDArray[np.int64], predicted: NDArray[np.int64], classes: Sequence[str]) -> Confusion:
        """The confusion of some items."""
        return cls(tuple(classes), count_confusions(labels, predicted, len(classes)))

    @property
    def accuracy(self) -> float | None:
        """The share of items that are recognised."""
        return _share(int(np.trace(self.counts)), int(self.counts.sum()))

    def shares(self) -> list[list[float]]:
        """The parts of every row."""
        shares: list[list[float]] = (self.counts / np.maximum(1, self.counts.sum(1, keepdims=True))).tolist()
        return shares

    def scores(self) -> list[ClassScores]:
        """The scores of all classes that items are of or were taken for."""
        taken, there = self.counts.sum(0), self.counts.sum(1)
        indices: list[int] = np.flatnonzero(taken + there).tolist()
        return [self._score(index, int(taken[index]), int(there[index])) for index in indices]

    def _score(self, index: int, taken: int, there: int) -> ClassScores:
        right = int(self.counts[index, index])
        f1 = _share(2 * right, taken + there)
        return ClassScores(self.classes[index], there, _share(right, taken), _share(right, there), f1)

    def worst_pairs(self, most: int) -> list[ConfusedPair]:
        """The pairs of classes that are confused most often."""
        wrong = self.counts.copy()
        np.fill_diagonal(wrong, 0)
        order = np.argsort(-wrong, axis=None, kind="stable")[:most]
        shares, pairs = self.shares(), list[ConfusedPair]()
        for label, predicted in zip(*np.unravel_index(order, wrong.shape), strict=True):
            count = int(wrong[label, predicted])
            if count:
                names = self.classes[label], self.classes[predicted]
                pairs.append(ConfusedPair(*names, count, shares[label][predicted]))
        return pairs


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
