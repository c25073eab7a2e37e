"""Resizes images with SSD's resize_param, by their shorter side as in Fast R-CNN, and with pycaffe's arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.boxes import Box, Boxes
from netdsl.data.transforms.decode import Interpolation, rescale, resize
from netdsl.data.types import Array, Random
from netdsl.errors import DataError

Size = tuple[int, int]  # height and width

_WARP, _FIT_SMALL = pb.ResizeParameter.WARP, pb.ResizeParameter.FIT_SMALL_SIZE
_OF_OTHER_FORKS = ("center_object", "max_angle", "is_pyramid_test", "out_height_scale", "out_width_scale")
LONGEST = 1000  # pixels
COLOR_MEANS = (102.9801, 115.9465, 122.7717)  # Fast R-CNN subtracts them from blue, green and red
Numbers = NDArray[Any]
Image = NDArray[np.float32]


class ImageResizing:
    """Resizes images to a fixed size, or in proportion.

    In proportion, an image either covers the size and is longer on one side, or fits into it and is padded.
    """

    def __init__(self, p: pb.ResizeParameter) -> None:
        if not (p.height and p.width):
            raise DataError("resize_param has no size; set a height and a width above 0")
        other = [name for name in _OF_OTHER_FORKS if p.HasField(name)]
        if other:
            raise DataError(
                f"resize_param: {other[0]}: not supported; remove it, and change the images before you store them "
                "with `zoo data convert`"
            )
        self._p, self._keeps_size = p, p.resize_mode != _FIT_SMALL
        self._full = np.array([p.width, p.height], np.float32)
        names = [pb.ResizeParameter.Interp_mode.Name(mode) for mode in p.interp_mode]
        self._modes = [Interpolation[name] for name in names] or [Interpolation.LINEAR]

    @property
    def fixed_size(self) -> Size | None:
        """The size of all resized images, or `None` if they keep their proportions."""
        return (self._p.height, self._p.width) if self._keeps_size else None

    def size(self, height: int, width: int) -> Size:
        """Return the size that an image of this size is resized to."""
        return self.fixed_size or self.size_without_borders(height, width)

    def __call__(self, image: Array, random: Random) -> Array:
        """Return the image in its new size. The interpolation is drawn from those in the settings."""
        if image.shape[1:] == (self._p.height, self._p.width):
            return image
        mode = self._modes[int(random.integers(len(self._modes)))] if len(self._modes) > 1 else self._modes[0]
        resized = resize(as_bytes(image), *self.size_without_borders(image.shape[1], image.shape[2]), mode)
        return self._padded(resized) if self._keeps_size else resized

    def boxes(self, boxes: Boxes, height: int, width: int) -> Boxes:
        """Return boxes of an image of this size relative to the resized image.

        As in Caffe, boxes are computed as if the image's size hadn't been rounded to whole pixels.
        """
        old, scaled = np.array([width, height], np.float32), self._scaled(height, width)
        new = self._full if self._keeps_size else scaled
        padding = (new - scaled) / 2
        corners = boxes.reshape(-1, 2, 2) * old * (new - 2 * padding) / old
        first, last = padding + corners[:, 0].clip(0), padding + np.minimum(corners[:, 1], new)
        resized: Boxes = np.concatenate([first, last], axis=1) / np.tile(new, 2)
        return resized

    def in_other_units(self, boxes: Boxes, height: int, width: int, crop: Box) -> Boxes:
        """Return boxes of a crop in units of `height_scale` and `width_scale`, if these are set.

        As in Caffe, they only apply to images that cover a size.
        """
        units = np.array([self._p.width_scale, self._p.height_scale], np.float32)
        if self._keeps_size or not units.all():
            return boxes
        size = self._scaled(height, width) * (crop[2:] - crop[:2])
        if (size < units).any():
            raise DataError(
                f"resize_param: width_scale and height_scale are {units[0]:g} and {units[1]:g}, more than the "
                f"resized part of an image of {height} x {width}: {size[0]:g} and {size[1]:g}; lower "
                "width_scale and height_scale"
            )
        scaled: Boxes = boxes * np.tile(size, 2) / np.tile(units, 2)
        return scaled

    def _scaled(self, height: int, width: int) -> Boxes:
        """Return the width and height of the resized image before padding and rounding."""
        if self._p.resize_mode == _WARP:
            return self._full
        aspect, full = np.float32(width) / np.float32(height), self._full
        is_wide, is_narrow = aspect > full[0] / full[1], aspect < full[0] / full[1]
        keeps_width = is_wide if self._keeps_size else is_narrow
        return np.array([full[0], full[0] / aspect] if keeps_width else [aspect * full[1], full[1]], np.float32)

    def size_without_borders(self, height: int, width: int) -> Size:
        """Return the size that an image of this size is resized to before borders are added."""
        wide, high = self._scaled(height, width)
        return max(1, int(high)), max(1, int(wide))

    def _padded(self, image: Array) -> Array:
        """Return the image in the center of the whole size."""
        channels, height, width = image.shape
        if (height, width) == self.fixed_size:
            return image
        top, left = (self._p.height - height) // 2, (self._p.width - width) // 2
        margins = (0, 0), (top, self._p.height - height - top), (left, self._p.width - width - left)
        if self._p.pad_mode == pb.ResizeParameter.MIRRORED:
            return np.pad(image, margins, "reflect")
        if self._p.pad_mode == pb.ResizeParameter.REPEAT_NEAREST:
            return np.pad(image, margins, "edge")
        padded = np.empty((channels, self._p.height, self._p.width), np.uint8)
        padded[...] = self._pad_values(channels)
        padded[:, top : top + height, left : left + width] = image
        return padded

    def _pad_values(self, channels: int) -> Array:
        values = np.rint(np.array(self._p.pad_value or [0], np.float32)).clip(0, 255).astype(np.uint8)
        if len(values) not in (1, channels):
            raise DataError(f"resize_param has {len(values)} pad_values for {channels} channels; give one for each")
        return values[:, None, None]


def as_bytes(image: Array) -> Array:
    """Return the same values as bytes. Raises a `DataError` if they aren't whole numbers from 0 to 255."""
    if image.dtype == np.uint8:
        return image
    with np.errstate(invalid="ignore"):
        pixels = image.astype(np.uint8)
    if not np.array_equal(pixels, image):
        raise DataError(
            "an image has other values than whole numbers from 0 to 255, so it can't be resized; remove "
            "resize_param, or store bytes"
        )
    return pixels


@dataclass(frozen=True)
class ShortSide:
    """Resizes an image to a length of its shorter side, unless its longer side would exceed `longest`.

    The means of the channels are subtracted, and the result is multiplied by `factor`.
    """

    length: float = 600
    longest: float = LONGEST
    means: Sequence[float] = COLOR_MEANS
    factor: float = 1

    def __call__(self, image: Array) -> tuple[Array, float]:
        """Return the resized image, with its means subtracted, and the scale of its size."""
        shorter, longer = sorted(image.shape[1:])
        scale = self.length / shorter
        if round(scale * longer) > self.longest:
            scale = self.longest / longer
        values = (image - np.array(self.means).reshape(-1, 1, 1)) * self.factor
        return rescale(values.astype(np.float32), scale), scale

    def __str__(self) -> str:
        means = ",".join(f"{value:g}" for value in self.means)
        factor = f", times {self.factor:g}" if self.factor != 1 else ""
        return (
            f"their shorter side {self.length:g}, or the longer {self.longest:g} if that is less, minus {means}{factor}"
        )


class Grid(Enum):
    """The meaning of pixels, which determines the places of points between them."""

    AREAS = "areas"  # as in scikit-image; outside the image, values are its smallest value
    POINTS = "points"  # as in scipy: the outer points are in the corners


def resample(image: Numbers, size: Sequence[int] | Numbers, *, linear: bool = True, grid: Grid = Grid.AREAS) -> Image:
    """Return an image of height, width and any other axes in a new height and width.

    It is interpolated linearly, or takes the nearest pixels.
    """
    outside, values = float(image.min()), image
    for axis, length in enumerate(size):
        positions = _positions(values.shape[axis], int(length), grid)
        values = _interpolated(values, axis, positions, outside) if linear else _nearest(values, axis, positions)
    return values.astype(np.float32)


def _positions(old: int, new: int, grid: Grid) -> Numbers:
    return (np.arange(new) + 0.5) * (old / new) - 0.5 if grid is Grid.AREAS else np.linspace(0, old - 1, new)


def _nearest(values: Numbers, axis: int, positions: Numbers) -> Numbers:
    return values.take(np.floor(positions + 0.5).astype(int), axis)


def _interpolated(values: Numbers, axis: int, positions: Numbers, outside: float) -> Numbers:
    """Return the values at positions between pixels or outside the image."""
    before = np.floor(positions).astype(int)
    fraction = (positions - before).reshape(-1, *[1] * (values.ndim - axis - 1))
    result = _at(values, axis, before, outside)
    result *= 1 - fraction
    after = _at(values, axis, before + 1, outside)
    after *= fraction
    result += after
    return result


def _at(values: Numbers, axis: int, indices: Numbers, outside: float) -> Numbers:
    """Return the values at indices. Only these are converted, because an image can be much larger than the result."""
    last = values.shape[axis] - 1
    taken = values.take(indices.clip(0, last), axis).astype(np.float64)
    beyond = (indices < 0) | (indices > last)
    if beyond.any():
        taken[(slice(None),) * axis + (beyond,)] = outside
    return taken
