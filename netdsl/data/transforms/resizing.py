"""SSD's `resize_param`: images of any size become larger or smaller, and boxes go along."""

from __future__ import annotations

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.boxes import Box, Boxes
from netdsl.data.transforms.decode import Interpolation, resize
from netdsl.data.types import Array, Random
from netdsl.errors import DataError

Size = tuple[int, int]  # height and width

_WARP, _FIT_SMALL = pb.ResizeParameter.WARP, pb.ResizeParameter.FIT_SMALL_SIZE
_OF_OTHER_FORKS = ("center_object", "max_angle", "is_pyramid_test", "out_height_scale", "out_width_scale")


class ImageResizing:
    """A way to resize images: to one size whatever their proportions, or in proportion.

    In proportion an image either covers the size, and is longer on one side, or fits into it, and is padded.
    """

    def __init__(self, p: pb.ResizeParameter) -> None:
        if not (p.height and p.width):
            raise DataError("resize_param: needs a height and a width above 0")
        other = [name for name in _OF_OTHER_FORKS if p.HasField(name)]
        if other:
            raise DataError(f"resize_param: {other[0]}: not supported; remove it, or prepare the images beforehand")
        self._p, self._keeps_size = p, p.resize_mode != _FIT_SMALL
        self._full = np.array([p.width, p.height], np.float32)
        names = [pb.ResizeParameter.Interp_mode.Name(mode) for mode in p.interp_mode]
        self._modes = [Interpolation[name] for name in names] or [Interpolation.LINEAR]

    @property
    def fixed_size(self) -> Size | None:
        """The size that all images get; None if they keep their proportions."""
        return (self._p.height, self._p.width) if self._keeps_size else None

    def size(self, height: int, width: int) -> Size:
        """The size that an image of this size gets."""
        return self.fixed_size or self._whole_pixels(height, width)

    def __call__(self, image: Array, random: Random) -> Array:
        """The image in its new size, with an interpolation drawn from those of the settings."""
        if image.shape[1:] == (self._p.height, self._p.width):
            return image
        mode = self._modes[int(random.integers(len(self._modes)))] if len(self._modes) > 1 else self._modes[0]
        resized = resize(as_bytes(image), *self._whole_pixels(image.shape[1], image.shape[2]), mode)
        return self._padded(resized) if self._keeps_size else resized

    def boxes(self, boxes: Boxes, height: int, width: int) -> Boxes:
        """Boxes of an image of this size as parts of what becomes of it.

        Caffe's rule: they are where they were if the size of the image hadn't been rounded to whole pixels.
        """
        old, scaled = np.array([width, height], np.float32), self._scaled(height, width)
        new = self._full if self._keeps_size else scaled
        padding = (new - scaled) / 2
        corners = boxes.reshape(-1, 2, 2) * old * (new - 2 * padding) / old
        first, last = padding + corners[:, 0].clip(0), padding + np.minimum(corners[:, 1], new)
        resized: Boxes = np.concatenate([first, last], axis=1) / np.tile(new, 2)
        return resized

    def in_other_units(self, boxes: Boxes, height: int, width: int, crop: Box) -> Boxes:
        """Boxes of a crop of an image of this size in units of `height_scale` and `width_scale`, if there are any.

        Caffe's rule: only images that cover a size have them.
        """
        units = np.array([self._p.width_scale, self._p.height_scale], np.float32)
        if self._keeps_size or not units.all():
            return boxes
        size = self._scaled(height, width) * (crop[2:] - crop[:2])
        if (size < units).any():
            raise DataError(
                f"resize_param: width_scale and height_scale are {units[0]:g} and {units[1]:g}, more than what becomes "
                f"of an image of {height} x {width}: {size[0]:g} and {size[1]:g}"
            )
        scaled: Boxes = boxes * np.tile(size, 2) / np.tile(units, 2)
        return scaled

    def _scaled(self, height: int, width: int) -> Boxes:
        """The width and height of what becomes of an image before it is padded, not yet rounded."""
        if self._p.resize_mode == _WARP:
            return self._full
        aspect, full = np.float32(width) / np.float32(height), self._full
        is_wide, is_narrow = aspect > full[0] / full[1], aspect < full[0] / full[1]
        keeps_width = is_wide if self._keeps_size else is_narrow
        return np.array([full[0], full[0] / aspect] if keeps_width else [aspect * full[1], full[1]], np.float32)

    def _whole_pixels(self, height: int, width: int) -> Size:
        wide, high = self._scaled(height, width)
        return max(1, int(high)), max(1, int(wide))

    def _padded(self, image: Array) -> Array:
        """The image in the middle of the whole size."""
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
            raise DataError(f"resize_param has {len(values)} pad_values for {channels} channels: give one for each")
        return values[:, None, None]


def as_bytes(image: Array) -> Array:
    """The same values as bytes; a DataError if they aren't whole numbers from 0 to 255."""
    if image.dtype == np.uint8:
        return image
    with np.errstate(invalid="ignore"):
        pixels = image.astype(np.uint8)
    if not np.array_equal(pixels, image):
        raise DataError("images that are resized have whole values from 0 to 255; this one has others")
    return pixels
