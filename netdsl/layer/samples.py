"""Made-up values for blobs that need valid ones: labels, image sizes and boxes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum, auto

import numpy as np
import numpy.typing as npt

Size = tuple[int, int]  # height and width


class BlobKind(Enum):
    """The kind of a blob's values."""

    NUMBER = auto()  # any number
    LABEL = auto()  # a class or an index, as a whole number
    IMAGE_SIZE = auto()  # rows of an image's height, width and scale
    REGION = auto()  # rows of an image's index, and a box in its pixels
    LABELED_BOX = auto()  # rows of a box in an image's pixels, and its class
    BOX_CODE = auto()  # boxes as a net predicts them, relative to others: small numbers
    PRIORS = auto()  # consecutive boxes in fractions of the image, then four variances for each
    COUNTED_BOX = auto()  # rows of boxes as DIGITS writes them; an image's first row contains their number
    OBJECT = auto()  # rows of an image's index, a class, a number, a box in fractions of the image, and a flag


BOX_VALUES = 16  # in a box of DIGITS' databases: left, top, width, height, an angle, the class and others
TYPICAL_ITEMS = {BlobKind.COUNTED_BOX: (1, 4, BOX_VALUES)}  # the shapes of items whose kind determines one


def sample_values(
    kind: BlobKind, shape: Sequence[int], image: Size, random: np.random.Generator, *, fractions: bool = False
) -> npt.NDArray[np.float32]:
    """Return values of a kind in the shape of a blob, for images of a given size.

    If there is one label per item, it is 0. Numbers have the mean 0, or are from 0 to 1 with `fractions`.
    """
    if kind is BlobKind.NUMBER:
        return random.random(shape, np.float32) if fractions else random.standard_normal(shape, np.float32)
    if kind is BlobKind.LABEL:
        return random.integers(0, 2 if len(shape) > 1 else 1, shape).astype(np.float32)
    if kind is BlobKind.BOX_CODE:
        return random.normal(0, 0.01, shape).astype(np.float32)
    if kind is BlobKind.PRIORS:
        return _priors(shape, random)
    if kind is BlobKind.COUNTED_BOX:
        return _counted_boxes(shape, image)
    length = len(_row(kind, image, random))
    if math.prod(shape) % length:  # no rows of this length fit; the layer that reads them reports it
        return np.zeros(shape, np.float32)
    rows = [_row(kind, image, random) for _ in range(math.prod(shape) // length)]
    return np.array(rows, np.float32).reshape(shape)


def _priors(shape: Sequence[int], random: np.random.Generator) -> npt.NDArray[np.float32]:
    boxes = random.uniform((0, 0, 0.6, 0.6), (0.4, 0.4, 1, 1), (math.prod(shape) // 8, 4)).reshape(-1)
    return np.concatenate([boxes, np.full_like(boxes, 0.1)]).astype(np.float32).reshape(shape)


def _counted_boxes(shape: Sequence[int], image: Size) -> npt.NDArray[np.float32]:
    """Return a box of class 1 in each image, after a row with the number of boxes."""
    values, (height, width) = np.zeros((shape[0], math.prod(shape[1:])), np.float32), image
    first = [1, BOX_VALUES, *[0] * (BOX_VALUES - 2), width / 4, height / 4, width / 2, height / 2, 0, 1]
    values[:, : len(first)] = first[: values.shape[1]]
    return values.reshape(shape)


def _row(kind: BlobKind, image: Size, random: np.random.Generator) -> Sequence[float]:
    height, width = image
    if kind is BlobKind.IMAGE_SIZE:
        return height, width, 1.0
    if kind is BlobKind.LABELED_BOX:
        return 0.0, 0.0, width / 2, height / 2, 1.0
    if kind is BlobKind.OBJECT:
        return 0.0, 1.0, 0.0, 0.1, 0.1, 0.6, 0.6, 0.0
    (left, right), (top, bottom) = (sorted(random.uniform(0, side - 1, 2)) for side in (width, height))
    return 0.0, left, top, right, bottom
