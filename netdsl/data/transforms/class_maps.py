"""MobileNet-YOLO's maps of classes: for each class the share of a place that it covers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netdsl.data.transforms.decode import opencv, resize
from netdsl.data.transforms.mean import Pixels
from netdsl.data.types import Array

_FOREGROUND = 100  # Caffe's rule: a place of a map of one class counts from here on
_ALL = 255


class ClassMaps:
    """A map as the net gets it, made of one that has a value for each pixel, which is brought to a size.

    `channels` has the values that each channel stands for; without it there is one channel, and a value above 100 is
    foreground. The size is `size`, or that of the image divided by `divisor`.
    """

    def __init__(
        self, channels: Sequence[Sequence[int]] | None, *, divisor: int = 1, size: tuple[int, int] | None = None
    ) -> None:
        self._channels, self._divisor, self._size = channels, divisor, size

    def __call__(self, values: Array, height: int, width: int) -> Pixels:
        """The map for an image that has become so large; `values` are those of what is shown, with one channel."""
        size = self._size or (max(1, height // self._divisor), max(1, width // self._divisor))
        if self._channels is None:
            shares: Pixels = resize(values, *size)
            return np.where(shares > _FOREGROUND, np.float32(1), np.float32(0))
        return np.concatenate([resize(_chosen(values, wanted), *size) for wanted in self._channels]) / np.float32(_ALL)


def _chosen(values: Array, wanted: Sequence[int]) -> Array:
    table = np.zeros(_ALL + 1, np.uint8)
    table[list(wanted)] = _ALL
    return np.asarray(opencv().LUT(values[0], table))[None]
