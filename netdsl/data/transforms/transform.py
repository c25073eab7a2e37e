"""Caffe's transform of an image: resize, crop, mirror, subtract the mean, scale."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.decode import Interpolation, resize
from netdsl.data.transforms.mean import Mean, Pixels
from netdsl.data.types import Array, Random
from netdsl.errors import DataError

_SUPPORTED = {
    *("scale", "mirror", "crop_size", "mean_file", "mean_value", "force_color", "force_gray"),
    *("crop_h", "crop_w", "resize_param"),
    "use_gpu_transform",  # where it is computed, not what
}


class ImageTransform(Protocol):
    """A transform of an image on its way into a batch.

    One that is `constant` does the same to all images, and accepts several of them in an array with one more axis.
    """

    constant: bool

    def shape(self, channels: int, height: int, width: int, /) -> tuple[int, int, int]:
        """The shape of the result for an image of this shape."""
        ...

    def __call__(self, image: Array, random: Random, out: Array) -> object:
        """Write the transformed image to `out`. All random numbers come from `random`."""
        ...


class Transform:
    """The transform of `transform_param`, but for `force_color` and `force_gray`, which `Color.of` has for decoding.

    An image is mirrored in half of the calls, in any phase. It is cropped at random for training, else in the middle.
    """

    def __init__(self, p: pb.TransformationParameter, *, train: bool) -> None:
        _check_fields(p)
        self._train, self._mirror = train, p.mirror
        self._crop = _crop(p)
        self._scale = np.float32(p.scale)
        self._mean = Mean(p)
        self._resize = Warp(p.resize_param[0]) if p.resize_param else None
        self.constant = not (self._mirror or self._resize or (train and self._crop))

    def shape(self, channels: int, height: int, width: int) -> tuple[int, int, int]:
        """The shape of the result for an image of this shape."""
        if self._resize:
            height, width = self._resize.size
        crop_height, crop_width = self._crop or (height, width)
        if crop_height > height or crop_width > width:
            raise DataError(f"a crop of {crop_height} x {crop_width} is larger than the image, {height} x {width}")
        return channels, crop_height, crop_width

    def __call__(self, image: Array, random: Random, out: Pixels | None = None) -> Pixels:
        """The transformed image, written to `out` if there is one. All random numbers come from `random`.

        A constant transform also takes several images, in an array with one more axis in front.
        """
        if self._resize:
            image = self._resize(image, random)
        image_shape = image.shape[-3:]
        channels, height, width = self.shape(*image_shape)
        step = -1 if self._mirror and random.integers(2) else 1
        top, left = self._offset(image_shape[1] - height, image_shape[2] - width, random)
        window = (..., slice(top, top + height), slice(left, left + width))
        out = np.empty((*image.shape[:-3], channels, height, width), np.float32) if out is None else out
        out[...] = image[window][..., ::step]
        mean = self._mean.of(image_shape)
        if mean is not None:
            out -= mean[window][..., ::step]
        if self._scale != 1:
            out *= self._scale
        return out

    def _offset(self, free_height: int, free_width: int, random: Random) -> tuple[int, int]:
        if self._train and self._crop:
            return int(random.integers(free_height + 1)), int(random.integers(free_width + 1))
        return free_height // 2, free_width // 2


class Warp:
    """SSD's `resize_param` in its mode WARP: images get one size, whatever their proportions."""

    def __init__(self, p: pb.ResizeParameter) -> None:
        if p.resize_mode != pb.ResizeParameter.WARP or not (p.height and p.width):
            raise DataError("resize_param: only resize_mode WARP with height and width is supported")
        self.size = (p.height, p.width)
        names = [pb.ResizeParameter.Interp_mode.Name(mode) for mode in p.interp_mode]
        self._modes = [Interpolation[name] for name in names] or [Interpolation.LINEAR]

    def __call__(self, image: Array, random: Random) -> Array:
        """The image in its new size, with an interpolation drawn from those of the settings."""
        if image.shape[1:] == self.size:
            return image
        pixels = image if image.dtype == np.uint8 else _as_bytes(image)
        mode = self._modes[int(random.integers(len(self._modes)))] if len(self._modes) > 1 else self._modes[0]
        return resize(pixels, *self.size, mode)


def _as_bytes(image: Array) -> Array:
    """The same values as bytes; a DataError if they aren't whole numbers from 0 to 255."""
    with np.errstate(invalid="ignore"):
        pixels = image.astype(np.uint8)
    if not np.array_equal(pixels, image):
        raise DataError("images that are resized have whole values from 0 to 255; this one has others")
    return pixels


def _crop(p: pb.TransformationParameter) -> tuple[int, int] | None:
    if p.crop_size and (p.crop_h or p.crop_w):
        raise DataError("transform_param has both crop_size and crop_h or crop_w: remove one")
    if bool(p.crop_h) != bool(p.crop_w):
        raise DataError("crop_h and crop_w go together: give both or neither")
    height, width = p.crop_h or p.crop_size, p.crop_w or p.crop_size
    return (height, width) if height else None


def _check_fields(p: pb.TransformationParameter) -> None:
    """Raise a DataError for settings of forks that aren't supported."""
    changed = [field.name for field, value in p.ListFields() if value != field.default_value]
    unsupported = [name for name in changed if name not in _SUPPORTED]
    if unsupported or len(p.resize_param) > 1:
        names = ", ".join(unsupported) or "more than one resize_param"
        raise DataError(f"transform_param: {names}: not supported; remove it, or prepare the images beforehand")
