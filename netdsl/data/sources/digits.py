"""scikit-learn's handwritten digits: 1797 images of 8 by 8 pixels that need no download."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np

from caffe_proto.errors import MissingExtraError
from netdsl.data.sources.arrays import ArraySource
from netdsl.data.sources.source import DataSplit
from netdsl.data.types import Array

_TEST_EVERY = 5  # one in so many of each digit's images is for testing


class DigitsSource(ArraySource):
    """Images with values from 0 to 255 and their digits; without a split, all of them."""

    def __init__(self, split: DataSplit | None = None) -> None:
        rows = np.loadtxt(_digits_file(), delimiter=",")
        images, labels = rows[:, :64].reshape(-1, 8, 8), rows[:, 64].astype(np.int64)
        selected = np.ones(len(labels), bool) if split is None else _for_testing(labels) == (split is DataSplit.TEST)
        pixels = np.rint(images[selected] * (255 / 16)).astype(np.uint8)
        super().__init__([(pixels[:, np.newaxis], labels[selected])])


def _for_testing(labels: Array) -> Array:
    """A mask of the items for testing: always the same ones, and an equal share of every digit."""
    selected = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        selected[np.flatnonzero(labels == label)[_TEST_EVERY - 1 :: _TEST_EVERY]] = True
    return selected


def _digits_file() -> Path:
    """scikit-learn's file. It is read as it lies there, since importing the package takes seconds."""
    package = find_spec("sklearn")
    if package is None or package.origin is None:
        raise MissingExtraError("the digits need scikit-learn: pip install 'netdsl[data]'")
    return Path(package.origin).parent / "datasets" / "data" / "digits.csv.gz"
