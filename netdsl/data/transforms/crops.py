"""Parts of images: WindowData's windows in their squares, TSN's crops, and Intel's random_aspect_ratio_param."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.data.transforms.resizing import ImageResizing
from netdsl.data.types import Array, Random
from netdsl.errors import DataError

Size = tuple[int, int]  # height and width

_RATIOS = (1.0, 0.875, 0.75, 0.66)  # the default ratios
_NEAR = 3  # in pixels: a part whose side is closer than this to the crop's side gets the crop's side
_QUARTERS = 4  # of the difference between the image and its part
_PLACES = ((0, 0), (0, 4), (4, 0), (4, 4), (2, 2))  # quarters from the top and the left: the corners and the center
_MORE_PLACES = ((0, 2), (4, 2), (2, 0), (2, 4), (1, 1), (1, 3), (3, 1), (3, 3))
_FOR_PLAIN_IMAGES = ("multi_scale", "fix_crop", "is_flow")
_STEPS = 1000  # into which the range of a ratio is divided


class CropChoice:
    """Draws the part of an image that becomes a crop.

    With `multi_scale`, its height and width are shares of the image's shorter side. Their places in the list of shares
    differ by at most `max_distort`. With `fix_crop`, it is in a corner or in the center, and with `more_fix_crop` also
    between these places. Otherwise it is at a random place.
    """

    def __init__(self, p: pb.TransformationParameter, crop: Size) -> None:
        self._crop = crop
        self._ratios = np.array(p.scale_ratios or _RATIOS, np.float32) if p.multi_scale else None
        self._most_apart = p.max_distort
        self._places = (*_PLACES, *_MORE_PLACES) if p.more_fix_crop else _PLACES
        self._is_fixed = p.fix_crop
        if self._ratios is not None and not ((self._ratios > 0) & (self._ratios <= 1)).all():
            raise DataError(
                "transform_param: scale_ratios must be above 0 and at most 1, because they are shares of an "
                "image's side; write, for example, 1, 0.875 and 0.75"
            )
        if self._ratios is not None and self._most_apart < 0:
            raise DataError(f"transform_param: max_distort is {self._most_apart}; set it to 0 or more")

    @classmethod
    def of(cls, p: pb.TransformationParameter, crop: Size | None) -> CropChoice | None:
        """Return the choice of crops for these settings, or `None` if they use ordinary crops."""
        if not (p.multi_scale or p.fix_crop):
            return None
        if crop is None:
            raise DataError("transform_param: multi_scale and fix_crop do nothing without a crop; set crop_size")
        return cls(p, crop)

    def __call__(self, height: int, width: int, random: Random) -> tuple[int, int, int, int]:
        """Return the top, left, height and width of a part of an image of this size."""
        high, wide = self._size(min(height, width), random)
        free_height, free_width = height - high, width - wide
        if not self._is_fixed:
            return int(random.integers(free_height + 1)), int(random.integers(free_width + 1)), high, wide
        down, right = self._places[random.integers(len(self._places))]
        return free_height // _QUARTERS * down, free_width // _QUARTERS * right, high, wide

    def _size(self, shorter: int, random: Random) -> Size:
        """Return the height and width of a part of an image whose shorter side has `shorter` pixels."""
        if self._ratios is None:
            return self._crop
        sides = [max(1, int(np.float32(shorter) * ratio)) for ratio in self._ratios]
        sizes = [
            (_near(high, self._crop[0]), _near(wide, self._crop[1]))
            for row, high in enumerate(sides)
            for column, wide in enumerate(sides)
            if abs(row - column) <= self._most_apart
        ]
        return sizes[random.integers(len(sizes))]


def _near(side: int, wanted: int) -> int:
    return wanted if abs(side - wanted) < _NEAR else side


def refuse_for(what: str, p: pb.TransformationParameter) -> None:
    """Raise a `DataError` for TSN's settings, which only work for images with a single label."""
    names = [name for name in _FOR_PLAIN_IMAGES if getattr(p, name)]
    if names:
        raise DataError(f"transform_param: {', '.join(names)} doesn't work for {what}; remove it from transform_param")


class RandomArea:
    """Draws a part of an image with a random area and aspect ratio.

    If no attempt fits into the image, the whole image is resized, so that its shorter side is the crop's side.
    """

    def __init__(self, p: pb.RandomAspectRatioParameter, side: int) -> None:
        self._p, self.side = p, side
        if not side:
            raise DataError("random_aspect_ratio_param needs the size of its result; set crop_size")
        if not 0 < p.min_area_ratio <= p.max_area_ratio or not 0 < p.aspect_ratio_change <= 1:
            raise DataError(
                "random_aspect_ratio_param needs areas above 0 in ascending order, and an aspect_ratio_change "
                "above 0 and up to 1; set, for example, min_area_ratio: 0.5, max_area_ratio: 1 and "
                "aspect_ratio_change: 0.75"
            )

    def __call__(self, image: Array, random: Random) -> Array:
        """Return the image, or a part of it, in its new size. Random numbers are drawn in Intel's order."""
        height, width = image.shape[-2:]
        for _ in range(self._p.max_attempt):
            high, wide = self._drawn(height * width, random)
            if high <= height and wide <= width:
                top, left = int(random.integers(height - high + 1)), int(random.integers(width - wide + 1))
                return self._resized(image[:, top : top + high, left : left + wide], self.side, self.side, random)
        longer = [int(np.float32(side) / np.float32(min(height, width)) * self.side) for side in (height, width)]
        return self._resized(image, longer[0], longer[1], random)

    def _drawn(self, area: int, random: Random) -> tuple[int, int]:
        """Return the height and width of a part. They are exchanged in half of the cases."""
        change = np.float32(self._p.aspect_ratio_change)
        new_area = _ratio(np.float32(self._p.min_area_ratio), np.float32(self._p.max_area_ratio), random) * area
        stretch = _ratio(change, 1 / change, random)
        sides = [max(1, int(math.sqrt(new_area) * stretch)), max(1, int(math.sqrt(new_area) / stretch))]
        high, wide = sides[::-1] if _ratio(np.float32(0), np.float32(1), random) < 0.5 else sides
        return high, wide

    def _resized(self, image: Array, height: int, width: int, random: Random) -> Array:
        settings = copy_of(self._p.resize_param)
        settings.height, settings.width = height, width
        return ImageResizing(settings)(image, random)


def _ratio(least: np.float32, most: np.float32, random: Random) -> float:
    return (int(random.integers(int((most - least) * _STEPS + 1))) + float(least) * _STEPS) / _STEPS


class Region(NamedTuple):
    """The corners of a window. Its last pixels belong to it."""

    x1: int
    y1: int
    x2: int
    y2: int


class RegionSpan(NamedTuple):
    """One axis of a window. The image's pixels from `first` to `last` become `size` pixels from `start` on."""

    first: int
    last: int
    start: int
    size: int


class WindowRegion(NamedTuple):
    """The part of an image that a window cuts out, and its place in the square. Axes are channels, height, width."""

    source: tuple[slice, slice, slice]
    top: int
    left: int
    height: int
    width: int


@dataclass(frozen=True)
class WindowPlacement:
    """Converts windows to squares of `size`, with `context` pixels around them. With `square`, proportions are kept."""

    size: int
    context: int
    square: bool

    def place(self, region: Region, height: int, width: int, mirrored: bool, where: str) -> WindowRegion:
        """Return the place of a window in an image of this size. Parts outside the image stay empty."""
        x, y = RegionSpan(region.x1, region.x2, 0, self.size), RegionSpan(region.y1, region.y2, 0, self.size)
        if (self.context or self.square) and region.x1 <= region.x2 and region.y1 <= region.y2:
            x1, y1, x2, y2 = self._expanded(region)
            x, y = self._clipped(x1, x2, width, mirrored), self._clipped(y1, y2, height, False)
        for span, limit in ((x, width), (y, height)):
            if not 0 <= span.first <= span.last < limit or span.size < 1:
                raise DataError(
                    f"{where}: the window {tuple(region)} isn't in the image of {height} x {width}; write its "
                    "corners in this image's pixels"
                )
        source = slice(None), slice(y.first, y.last + 1), slice(x.first, x.last + 1)
        return WindowRegion(source, y.start, x.start, y.size, x.size)

    def _expanded(self, region: Region) -> Region:
        """Return the window with its context, which fills `context` pixels of the square on each side.

        As in Caffe, it is computed in float32.
        """
        scale = np.float32(self.size) / np.float32(self.size - 2 * self.context)
        half_height = np.float32(region.y2 - region.y1 + 1) / np.float32(2)
        half_width = np.float32(region.x2 - region.x1 + 1) / np.float32(2)
        center_x, center_y = np.float32(region.x1) + half_width, np.float32(region.y1) + half_height
        if self.square:
            half_height = half_width = max(half_height, half_width)
        return Region(
            rounded(center_x - half_width * scale),
            rounded(center_y - half_height * scale),
            rounded(center_x + half_width * scale),
            rounded(center_y + half_height * scale),
        )

    def _clipped(self, first: int, last: int, limit: int, mirrored: bool) -> RegionSpan:
        """Return the part inside the image.

        It starts after the missing pixels at its beginning, or at its end if it is mirrored.
        """
        before, behind = max(0, -first), max(0, last - limit + 1)
        scale = np.float32(self.size) / np.float32(last - first + 1)
        first, last = first + before, last - behind
        start = rounded(np.float32(behind if mirrored else before) * scale)
        size = rounded(np.float32(last - first + 1) * scale)
        return RegionSpan(first, last, start, min(size, self.size - start))


def rounded(number: float | np.float32) -> int:
    """Return the nearest whole number. As in C, halves are rounded away from zero."""
    return int(math.copysign(math.floor(abs(float(number)) + 0.5), number))
