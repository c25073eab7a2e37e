"""Where a window lies in its image, and where in the square that it becomes: WindowData's arithmetic."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from netdsl.errors import DataError


class Region(NamedTuple):
    """The corners of a window; the last pixels belong to it."""

    x1: int
    y1: int
    x2: int
    y2: int


class RegionSpan(NamedTuple):
    """Along one axis: the pixels from first to last of the image come to `at` of the square, as `size` pixels."""

    first: int
    last: int
    at: int
    size: int


class WindowRegion(NamedTuple):
    """What to cut from an image of channels, height, width, and where it comes to lie in the square."""

    source: tuple[slice, slice, slice]
    top: int
    left: int
    height: int
    width: int


@dataclass(frozen=True)
class Placing:
    """How windows are brought to a square of `size`: with `context` pixels around, in or out of proportion."""

    size: int
    context: int
    square: bool

    def of(self, region: Region, height: int, width: int, mirrored: bool, where: str) -> WindowRegion:
        """Where a window of an image of this size goes. The parts that are outside of the image stay empty."""
        x, y = RegionSpan(region.x1, region.x2, 0, self.size), RegionSpan(region.y1, region.y2, 0, self.size)
        if (self.context or self.square) and region.x1 <= region.x2 and region.y1 <= region.y2:
            x1, y1, x2, y2 = self._expanded(region)
            x, y = self._clipped(x1, x2, width, mirrored), self._clipped(y1, y2, height, False)
        for span, limit in ((x, width), (y, height)):
            if not 0 <= span.first <= span.last < limit or span.size < 1:
                raise DataError(f"{where}: the window {tuple(region)} isn't in the image, {height} x {width}")
        source = slice(None), slice(y.first, y.last + 1), slice(x.first, x.last + 1)
        return WindowRegion(source, y.at, x.at, y.size, x.size)

    def _expanded(self, region: Region) -> Region:
        """With the context around that takes `context` pixels of the square on each side. Caffe computes in float32."""
        scale = np.float32(self.size) / np.float32(self.size - 2 * self.context)
        half_height = np.float32(region.y2 - region.y1 + 1) / np.float32(2)
        half_width = np.float32(region.x2 - region.x1 + 1) / np.float32(2)
        centre_x, centre_y = np.float32(region.x1) + half_width, np.float32(region.y1) + half_height
        if self.square:
            half_height = half_width = max(half_height, half_width)
        return Region(
            _round(centre_x - half_width * scale),
            _round(centre_y - half_height * scale),
            _round(centre_x + half_width * scale),
            _round(centre_y + half_height * scale),
        )

    def _clipped(self, first: int, last: int, limit: int, mirrored: bool) -> RegionSpan:
        """The part that is in the image. What is missing before it, or behind it in a mirrored one, moves it."""
        before, behind = max(0, -first), max(0, last - limit + 1)
        scale = np.float32(self.size) / np.float32(last - first + 1)
        first, last = first + before, last - behind
        at = _round(np.float32(behind if mirrored else before) * scale)
        size = _round(np.float32(last - first + 1) * scale)
        return RegionSpan(first, last, at, min(size, self.size - at))


def _round(number: np.float32) -> int:
    """To the nearest whole number, and from the middle away from zero, as C does."""
    return int(math.copysign(math.floor(abs(float(number)) + 0.5), number))
