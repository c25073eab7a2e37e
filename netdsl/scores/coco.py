"""COCO's scores of detections: average precision and recall over ten overlaps, by size and number of detections."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from netdsl.scores.boxes import BoxPairs, DetectedBoxes, Flags, Integers, Numbers, ObjectBoxes, areas
from netdsl.scores.precision import PrecisionRule, average_precision

OVERLAPS = np.linspace(0.5, 0.95, 10)
LIMITS = (1, 10, 100)  # detections of a class in an image


class ObjectSize(Enum):
    """Sizes of objects. The values are the smallest and the largest area."""

    ALL = (0, 1e10)
    SMALL = (0, 32**2)
    MEDIUM = (32**2, 96**2)
    LARGE = (96**2, 1e10)


SIZES = tuple(ObjectSize)


@dataclass(frozen=True)
class CocoClass:
    """The scores of a class. A score is `None` if the class has no objects."""

    label: int
    objects: int
    precision: float | None  # the mean over all overlaps
    precision_50: float | None  # at an overlap of 0.5
    recall: float | None  # with the highest limit on detections


@dataclass(frozen=True)
class CocoScores:
    """Precisions by size, class and overlap, and recalls by limit, size, class and overlap.

    A score is NaN if the class has no objects of the size.
    """

    labels: tuple[int, ...]
    objects: tuple[int, ...]  # for each class
    precisions: NDArray[np.float64]
    recalls: NDArray[np.float64]

    def precision(self, size: ObjectSize = ObjectSize.ALL, overlap: float | None = None) -> float | None:
        """Return the mean average precision over all overlaps or at one, or `None` if there are no objects."""
        chosen = slice(None) if overlap is None else np.isclose(OVERLAPS, overlap)
        return _mean(self.precisions[SIZES.index(size)][:, chosen])

    def recall(self, size: ObjectSize = ObjectSize.ALL, limit: int = LIMITS[-1]) -> float | None:
        """Return the mean recall over all overlaps with at most `limit` detections of a class in an image."""
        return _mean(self.recalls[LIMITS.index(limit), SIZES.index(size)])

    def by_class(self) -> list[CocoClass]:
        """Return the scores of each class for objects of all sizes."""
        rows = zip(self.labels, self.objects, self.precisions[0], self.recalls[-1, 0], strict=True)
        return [CocoClass(label, count, _mean(ap), _mean(ap[:1]), _mean(ar)) for label, count, ap, ar in rows]

    def summary(self) -> dict[str, float | None]:
        """Return the twelve numbers that COCO's own program prints, in its order."""
        small = {size.name.lower(): size for size in SIZES[1:]}
        return {
            "AP": self.precision(),
            "AP50": self.precision(overlap=0.5),
            "AP75": self.precision(overlap=0.75),
            **{f"AP {name}": self.precision(size) for name, size in small.items()},
            **{f"AR {limit}": self.recall(limit=limit) for limit in LIMITS},
            **{f"AR {name}": self.recall(size) for name, size in small.items()},
        }


def _mean(values: Numbers) -> float | None:
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else None


def score_as_coco(detected: DetectedBoxes, objects: ObjectBoxes) -> CocoScores:
    """Score detections by COCO's rules. Box areas are in pixels.

    Detectors don't have to find crowds, difficult objects or objects of other sizes. A detection of such an object is
    neither right nor wrong.
    """
    ranked = _Ranked.of(detected)
    judgement = _match(ranked, objects)
    labels = np.union1d(detected.label, objects.label)
    precisions = np.full((len(SIZES), len(labels), len(OVERLAPS)), np.nan)
    recalls = np.full((len(LIMITS), *precisions.shape), np.nan)
    for index, label in enumerate(labels.tolist()):
        own = np.flatnonzero(ranked.boxes.label == label)
        for size in range(len(SIZES)):
            needed = int((~judgement.needless[size] & (objects.label == label)).sum())
            if not needed:
                continue
            right, wrong = judgement.right[size][:, own], judgement.wrong[size][:, own]
            for limit, most in enumerate(LIMITS):
                recalls[limit, size, index] = right[:, ranked.rank[own] < most].sum(1) / needed
            for threshold in range(len(OVERLAPS)):
                flags = right[threshold], wrong[threshold]
                precisions[size, index, threshold] = average_precision(*flags, needed, PrecisionRule.COCO)
    counts = tuple(int((~judgement.needless[0] & (objects.label == label)).sum()) for label in labels)
    return CocoScores(tuple(labels.tolist()), counts, precisions, recalls)


@dataclass(frozen=True)
class _Ranked:
    """Detections from the highest score to the lowest, and the rank of each within its image and label."""

    boxes: DetectedBoxes
    rank: Integers

    @classmethod
    def of(cls, detected: DetectedBoxes) -> _Ranked:
        """Return the best detections of each image and label. Equal scores are ordered by image."""
        order = np.lexsort((detected.image, -detected.score))
        boxes = detected.take(order)
        group = np.unique(np.stack([boxes.image, boxes.label], 1), axis=0, return_inverse=True)[1].reshape(-1)
        by_group = np.argsort(group, kind="stable")
        counts = np.bincount(group)
        rank = np.empty(len(boxes), np.int64)
        rank[by_group] = np.arange(len(boxes)) - np.repeat(np.cumsum(counts) - counts, counts)
        kept = rank < LIMITS[-1]
        return cls(boxes.take(kept), rank[kept])


@dataclass(frozen=True)
class _Judgement:
    """Which detections are right and wrong, by size and overlap, and which objects don't have to be found, by size."""

    right: Flags
    wrong: Flags
    needless: Flags


def _match(ranked: _Ranked, objects: ObjectBoxes) -> _Judgement:
    """Match each detection to an object that no better one is matched to. Detections of equal rank are matched at
    once."""
    low, high = (np.array([size.value[side] for size in SIZES])[:, None] for side in (0, 1))
    needless = objects.crowd | objects.difficult | (objects.area < low) | (objects.area > high)
    pairs = BoxPairs.of(ranked.boxes, objects)
    overlaps = pairs.overlaps(ranked.boxes, objects)
    shape = len(SIZES), len(OVERLAPS)
    taken = np.zeros((*shape, len(objects)), np.bool_)
    matched = np.full((*shape, len(ranked.boxes)), -1)
    pair_rank = ranked.rank[pairs.detection]
    by_rank = np.argsort(pair_rank, kind="stable")
    ends = np.searchsorted(pair_rank[by_rank], np.arange(LIMITS[-1] + 1))
    for start, end in pairwise(ends.tolist()):
        if start == end:
            break
        chosen = by_rank[start:end]
        detection, place = pairs.detection[chosen], pairs.object[chosen]
        first = np.flatnonzero(np.diff(detection, prepend=-1))
        near = overlaps[chosen] >= np.minimum(OVERLAPS, 1 - 1e-10)[:, None]
        free = near & (~taken[..., place] | objects.crowd[place])
        best = _best_pairs(free, needless[:, None, place], overlaps[chosen], first)
        found = best >= 0
        matched[..., detection[first]] = np.where(found, place[best], -1)
        where = np.nonzero(found)
        taken[where[0], where[1], place[best[where]]] = True
    hit = matched >= 0
    of_needless = np.take_along_axis(
        np.pad(needless, ((0, 0), (0, 1)))[:, None], matched.reshape(len(SIZES), 1, -1), 2
    ).reshape(matched.shape)
    box_areas = areas(ranked.boxes.box)
    other_size = ((box_areas < low) | (box_areas > high))[:, None]
    return _Judgement(hit & ~of_needless, ~hit & ~other_size, needless)


def _best_pairs(free: Flags, needless: Flags, overlaps: Numbers, first: Integers) -> Integers:
    """Return the pair with the largest overlap for each detection, or -1.

    `first` is the index of each detection's first pair. COCO's rules: objects that must be found take precedence, and
    the last of equal overlaps wins.
    """
    counts = np.diff(np.append(first, len(overlaps)))
    needed = np.where(free & ~needless, overlaps, -1)
    most = np.maximum.reduceat(needed, first, axis=-1)
    value = np.where(np.repeat(most >= 0, counts, axis=-1), needed, np.where(free & needless, overlaps, -1))
    most = np.repeat(np.maximum.reduceat(value, first, axis=-1), counts, axis=-1)
    index = np.where((value == most) & (value >= 0), np.arange(len(overlaps)), -1)
    return np.asarray(np.maximum.reduceat(index, first, axis=-1))
