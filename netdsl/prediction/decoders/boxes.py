"""The shared arithmetic of detectors in numpy: box codes, overlaps and non-maximum suppression.

A box is (left, top, right, bottom) on the last axis. `netdsl.layers` computes the same in torch, for nets.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]

LARGEST_EXPONENT = 20.0  # larger exponents can't describe a box in an image, and would overflow later


class BoxCode(Enum):
    """The meaning of four predicted numbers relative to a prior box, as in SSD's `code_type`."""

    CORNER = "CORNER"
    CENTER_SIZE = "CENTER_SIZE"
    CORNER_SIZE = "CORNER_SIZE"


class Activation(Enum):
    """The function that turns a net's raw scores into probabilities, if the net doesn't contain it."""

    NONE = "none"
    SIGMOID = "sigmoid"
    SOFTMAX = "softmax"

    def apply(self, scores: Numbers, axis: int) -> Numbers:
        """Return the probabilities of classes. The classes are on the given axis."""
        if self is Activation.SIGMOID:
            return sigmoid(scores)
        return softmax(scores, axis) if self is Activation.SOFTMAX else scores


def sigmoid(x: Numbers) -> Numbers:
    """Return 1 / (1 + exp(-x)), without overflow."""
    small = np.exp(-np.abs(x))
    return np.asarray(np.where(x >= 0, 1, small) / (1 + small))


def softmax(x: Numbers, axis: int) -> Numbers:
    """Return the softmax along an axis."""
    powers = np.exp(x - x.max(axis, keepdims=True))
    return np.asarray(powers / powers.sum(axis, keepdims=True))


def bounded_exp(x: Numbers) -> Numbers:
    """Return exp(x). Exponents have a limit, so that the result is finite."""
    return np.asarray(np.exp(np.minimum(x, LARGEST_EXPONENT)))


def corners(centers: Numbers, sides: Numbers) -> Numbers:
    """Return the boxes with these centers (x, y) and sides (width, height)."""
    return np.concatenate([centers - sides / 2, centers + sides / 2], -1)


def sides_of(boxes: Numbers) -> Numbers:
    """Return the width and height of each box."""
    return np.asarray(boxes[..., 2:] - boxes[..., :2])


def centers_of(boxes: Numbers) -> Numbers:
    """Return the center (x, y) of each box."""
    return np.asarray((boxes[..., :2] + boxes[..., 2:]) / 2)


def decoded_boxes(code: BoxCode, codes: Numbers, priors: Numbers, variances: Numbers | float = 1) -> Numbers:
    """Return the boxes that the codes describe relative to the priors. Codes are multiplied by the variances first."""
    codes = codes * variances
    sides = sides_of(priors)
    if code is BoxCode.CENTER_SIZE:
        return corners(centers_of(priors) + codes[..., :2] * sides, bounded_exp(codes[..., 2:]) * sides)
    if code is BoxCode.CORNER_SIZE:
        codes = codes * np.concatenate([sides, sides], -1)
    return np.asarray(priors + codes)


def grid_centers(height: int, width: int, offset: float = 0.5) -> Numbers:
    """Return the centers (x, y) of the cells of a grid in reading order, as (height * width, 2), in cells."""
    y, x = np.divmod(np.arange(height * width), width)
    return np.stack([x, y], -1) + offset


def boxes_on_grid(height: int, width: int, step: tuple[float, float], sides: Numbers) -> Numbers:
    """Return boxes around the cells of a grid, by position and then by size, as (height * width * sizes, 4).

    `step` is the height and width of a cell. `sides` is (sizes, 2) with width and height, in the same unit.
    """
    centers = grid_centers(height, width) * step[::-1]
    return corners(centers[:, None], np.broadcast_to(sides, (len(centers), *sides.shape))).reshape(-1, 4)


def overlaps(box: Numbers, others: Numbers, *, pixel: float = 0, of_smaller: bool = False) -> Numbers:
    """Return the overlap of a box with each of the others: intersection over union.

    `pixel` is 1 for boxes that include their last pixels. With `of_smaller`, the intersection is divided by the area of
    the smaller box instead.
    """
    shared = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2]) + pixel
    common = np.maximum(shared, 0).prod(-1)
    own, areas = (np.maximum(sides_of(each) + pixel, 0).prod(-1) for each in (box, others))
    whole = np.minimum(own, areas) if of_smaller else own + areas - common
    return np.asarray(np.divide(common, whole, out=np.zeros_like(common, np.float64), where=whole > 0))


def suppressed(
    boxes: Numbers,
    scores: Numbers,
    labels: Numbers,
    overlap: float,
    *,
    candidates: int,
    pixel: float = 0,
    of_smaller: bool = False,
) -> NDArray[np.int64]:
    """Return the indices of the boxes that survive non-maximum suppression within their labels, best first.

    A box is dropped if it overlaps a better kept box of its label by more than `overlap`. Only the best `candidates`
    of each label are considered. Equal scores keep their order.
    """
    kept = list[int]()
    for label in np.unique(labels):
        mine = np.flatnonzero(labels == label)
        order = mine[np.argsort(-scores[mine], kind="stable")[:candidates]]
        while len(order):
            best, order = order[0], order[1:]
            kept.append(int(best))
            close = overlaps(boxes[best], boxes[order], pixel=pixel, of_smaller=of_smaller)
            order = order[close <= overlap]
    found = np.sort(np.asarray(kept, np.int64))
    return found[np.argsort(-scores[found], kind="stable")]
