"""scikit-learn's handwritten digits: 1797 images of 8 by 8 pixels that need no download."""

from __future__ import annotations

from typing import Any

import numpy as np

from caffe_proto.extras import import_extra
from netdsl.data.sources.arrays import ArraySource
from netdsl.data.sources.source import DataSplit
from netdsl.data.types import Array

_TEST_EVERY = 5  # one in so many of each digit's images is for testing


class DigitsSource(ArraySource):
    """Images with values from 0 to 255 and their digits; without a split, all of them."""

    def __init__(self, split: DataSplit | None = None) -> None:
        digits = _library().load_digits()
        images, labels = digits.images, digits.target
        selected = np.ones(len(labels), bool) if split is None else _for_testing(labels) == (split is DataSplit.TEST)
        pixels = np.rint(images[selected] * (255 / 16)).astype(np.uint8)
        super().__init__([(pixels[:, np.newaxis], labels[selected])])


def _for_testing(labels: Array) -> Array:
    """A mask of the items for testing: always the same ones, and an equal share of every digit."""
    selected = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        selected[np.flatnonzero(labels == label)[_TEST_EVERY - 1 :: _TEST_EVERY]] = True
    return selected


def _library() -> Any:
    return import_extra("sklearn.datasets", "data", "the digits need scikit-learn")
