"""Rectangles that are nearly the same become one, by the rules of OpenCV's `groupRectangles`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Rectangles = npt.NDArray[np.int64]  # rows of x, y, width, height
Counts = npt.NDArray[np.int64]

_FEW = 3  # members; a group with less goes wherever another one surrounds it


def group_rectangles(rectangles: Rectangles, least: int, eps: float) -> tuple[Rectangles, Counts]:
    """The mean of each group of more than `least`, and how many it has. With a `least` of 0 nothing is grouped."""
    if least <= 0 or not len(rectangles):
        return rectangles, np.ones(len(rectangles), np.int64)
    labels = _groups(_alike(rectangles, eps))
    counts = np.bincount(labels)
    sums = np.stack([np.bincount(labels, rectangles[:, side]) for side in range(4)], 1)
    means = _rounded(sums.astype(np.float32) * (np.float32(1) / counts.astype(np.float32))[:, None])
    means, counts = means[counts > least], counts[counts > least]
    stay = ~_surrounded(means, counts, eps)
    return means[stay], counts[stay]


def _rounded(values: npt.NDArray[np.float32] | npt.NDArray[np.float64]) -> Rectangles:
    rounded: Rectangles = np.rint(values).astype(np.int64)
    return rounded


def _alike(rectangles: Rectangles, eps: float) -> npt.NDArray[np.bool_]:
    """Which pairs differ at all four sides by no more than a part of the smaller width and height."""
    x, y, width, height = rectangles.T
    least = np.minimum(width[:, None], width) + np.minimum(height[:, None], height)
    sides = np.stack((x, y, x + width, y + height))
    alike: npt.NDArray[np.bool_] = (abs(sides[:, :, None] - sides[:, None]) <= eps * least * 0.5).all(0)
    return alike


def _groups(alike: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """The group of each rectangle, numbered by their first ones; what is like one of a group belongs to it."""
    labels = np.full(len(alike), -1)
    for first in range(len(alike)):
        pending = np.array([first]) if labels[first] < 0 else np.array([], np.int64)
        label = labels.max() + 1
        while len(pending):
            labels[pending] = label
            pending = np.nonzero(alike[pending].any(0) & (labels < 0))[0]
    return labels


def _surrounded(means: Rectangles, counts: Counts, eps: float) -> npt.NDArray[np.bool_]:
    """Which rectangles lie in another, give or take a part of its sides, which has more members unless they are few."""
    x, y, width, height = means.T
    across, down = _rounded(width * eps), _rounded(height * eps)
    inside = (x[:, None] >= x - across) & (y[:, None] >= y - down)
    inside &= (x + width)[:, None] <= x + width + across
    inside &= (y + height)[:, None] <= y + height + down
    inside &= (counts > counts[:, None]) | (counts[:, None] < _FEW)
    np.fill_diagonal(inside, val=False)
    surrounded: npt.NDArray[np.bool_] = inside.any(1)
    return surrounded
