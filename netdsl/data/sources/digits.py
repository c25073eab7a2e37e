"""scikit-learn's handwritten digits: 1797 images of 8 by 8 that are there without a download."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from caffe_proto.errors import MissingExtraError
from netdsl.data.sources.arrays import ArraySource
from netdsl.data.sources.source import Array
from netdsl.data.sources.split import DataSplit

_EVERY = 5  # of each digit's images, one in so many is for testing


class DigitsSource(ArraySource):
    """Images with values from 0 to 255 and their digits; without a split, all of them."""

    def __init__(self, split: DataSplit | None = None) -> None:
        found = _library().load_digits()
        images, labels = found.images, found.target
        chosen = np.ones(len(labels), bool) if split is None else _for_testing(labels) == (split is DataSplit.TEST)
        brightness = np.rint(images[chosen] * (255 / 16)).astype(np.uint8)
        super().__init__([(brightness[:, np.newaxis], labels[chosen])])


def _for_testing(labels: Array) -> Array:
    """Which items are for testing: always the same ones, and as large a share of every digit."""
    chosen = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        chosen[np.flatnonzero(labels == label)[_EVERY - 1 :: _EVERY]] = True
    return chosen


@cache
def _library() -> Any:
    try:
        return import_module("sklearn.datasets")
    except ImportError:
        raise MissingExtraError("the digits need scikit-learn: pip install 'netdsl[data]'") from None
