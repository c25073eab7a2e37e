"""WindowData's arithmetic: the part of an image that a window covers, and its place in the square it becomes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from netdsl.errors import DataError


class Region(NamedTuple):
    """The corners of a window, whose last pixels belong to it."""

    x1: int
    y1: int
    x2: int
    y2: int


class RegionSpan(NamedTuple):
    """One axis of a window: the image's pixels from first to last, which become `size` pixels from `start` on."""

    first: int
    last: int
    start: int
    size: int


class WindowRegion(NamedTuple):
    """The part of an image of channels, height, width that a window cuts out, and its place in the square."""

    source: tuple[slice, slice, slice]
    top: int
    left: int
    height: int
    width: int


@dataclass(frozen=True)
class WindowPlacement:
    """How windows become squares of `size`: with `context` pixels around them and, if `square`, in proportion."""

    size: int
    context: int
    square: bool

    def place(self, region: Region, height: int, width: int, mirrored: bool, where: str) -> WindowRegion:
        """The place of a window of an image of this size. Parts that are outside of the image stay empty."""
        x, y = RegionSpan(region.x1, region.x2, 0, self.size), RegionSpan(region.y1, region.y2, 0, self.size)
        if (self.context or self.square) and region.x1 <= region.x2 and region.y1 <= region.y2:
            x1, y1, x2, y2 = self._expanded(region)
            x, y = self._clipped(x1, x2, width, mirrored), self._clipped(y1, y2, height, False)
        for span, limit in ((x, width), (y, height)):
            if not 0 <= span.first <= span.last < limit or span.size < 1:
                raise DataError(f"{where}: the window {tuple(region)} isn't in the image, {height} x {width}")
        source = slice(None), slice(y.first, y.last + 1), slice(x.first, x.last + 1)
        return WindowRegion(source, y.start, x.start, y.size, x.size)

    def _expanded(self, region: Region) -> Region:
        """The window with a context that takes `context` pixels of the square on each side, in float32 as in Caffe."""
        scale = np.float32(self.size) / np.float32(self.size - 2 * self.context)
        half_height = np.float32(region.y2 - region.y1 + 1) / np.float32(2)
        half_width = np.float32(region.x2 - region.x1 + 1) / np.float32(2)
        centre_x, centre_y = np.float32(region.x1) + half_width, np.float32(region.y1) + half_height
        if self.square:
            half_height = half_width = max(half_height, half_width)
        return Region(
            rounded(centre_x - half_width * scale),
            rounded(centre_y - half_height * scale),
            rounded(centre_x + half_width * scale),
            rounded(centre_y + half_height * scale),
        )

    def _clipped(self, first: int, last: int, limit: int, mirrored: bool) -> RegionSpan:
        """The part that is in the image, moved by what is missing before it, or behind it if it is mirrored."""
        before, behind = max(0, -first), max(0, last - limit + 1)
        scale = np.float32(self.size) / np.float32(last - first + 1)
        first, last = first + before, last - behind
        start = rounded(np.float32(behind if mirrored else before) * scale)
        size = rounded(np.float32(last - first + 1) * scale)
        return RegionSpan(first, last, start, min(size, self.size - start))


def rounded(number: float | np.float32) -> int:
    """The nearest whole number; halves are rounded away from zero, as in C."""
    return int(math.copysign(math.floor(abs(float(number)) + 0.5), number))
