"""Caffe's transforms of single images, and of images with a map of labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.boxes import Box
from netdsl.data.transforms.crops import CropChoice, RandomArea
from netdsl.data.transforms.decode import Interpolation, resize
from netdsl.data.transforms.mean import Mean, Pixels
from netdsl.data.transforms.resizing import ImageResizing
from netdsl.data.types import Array, Random
from netdsl.errors import DataError

_SUPPORTED = {
    *("scale", "mirror", "crop_size", "mean_file", "mean_value", "force_color", "force_gray"),
    *("crop_h", "crop_w", "resize_param"),
    "random_aspect_ratio_param",
    *("multi_scale", "scale_ratios", "max_distort", "fix_crop", "more_fix_crop", "is_flow"),
    "use_gpu_transform",  # it chooses the device, not the result
}
FOR_BOXES = ("distort_param", "expand_param", "emit_constraint")  # SSD's settings for images with boxes


class ImageTransform(Protocol):
    """A transform of an image on its way into a batch.

    A `constant` transform does the same to all images, and accepts several images in an array with one more axis.
    """

    constant: bool

    def shape(self, channels: int, height: int, width: int, /) -> tuple[int, int, int]:
        """Return the shape of the result for an image of this shape."""
        ...

    def __call__(self, image: Array, random: Random, out: Array) -> object:
        """Write the transformed image to `out`. All random numbers come from `random`."""
        ...


class ItemTransform(Protocol):
    """A transform of all arrays of an item together, such as an image and its boxes."""

    def __call__(self, item: tuple[Array, ...], random: Random, batch: int, /) -> tuple[Array, ...]:
        """Return the arrays for a batch of this number. All random numbers come from `random`."""
        ...


class CropPlacement(NamedTuple):
    """The part of an image that is cut out, in pixels, and whether it is mirrored.

    It has the size of the crop, or is resized to that size.
    """

    top: int
    left: int
    height: int
    width: int
    mirrored: bool

    def edges(self, height: int, width: int) -> Box:
        """Return the edges of the part relative to an image of this size."""
        corners = [self.left, self.top, self.left + self.width, self.top + self.height]
        return np.array(corners, np.float32) / np.array([width, height] * 2, np.float32)


class Transform:
    """The transform in `transform_param`, except `force_color` and `force_gray`, which `Color.of` applies when
    decoding.

    An image is mirrored in half of the calls, in every phase. In training it is cropped at random, and otherwise in the
    center. With `is_flow`, channels alternate between horizontal and vertical motion, and mirroring reverses the
    horizontal motion.
    """

    def __init__(self, p: pb.TransformationParameter, *, train: bool) -> None:
        _check_fields(p)
        self._train, self._mirror = train, p.mirror
        self._crop = _crop(p)
        self._choice = CropChoice.of(p, self._crop) if train else None
        self._is_flow, self._mean_is_fixed = p.is_flow, p.multi_scale
        self.scale = float(np.float32(p.scale))
        self._mean = Mean(p)
        self._resize = ImageResizing(p.resize_param[0]) if p.resize_param else None
        has_area = p.HasField("random_aspect_ratio_param")
        self._area = RandomArea(p.random_aspect_ratio_param, p.crop_size) if has_area else None
        self.constant = not (self._mirror or self._resize or self._area or (train and self._crop))

    def shape(self, channels: int, height: int, width: int) -> tuple[int, int, int]:
        """Return the shape of the result for an image of this shape."""
        if self._area:
            height = width = self._area.side
        if self._resize:
            height, width = self._resize.size(height, width)
        return channels, *self._cropped(height, width)

    def _cropped(self, height: int, width: int) -> tuple[int, int]:
        crop_height, crop_width = self._crop or (height, width)
        if crop_height > height or crop_width > width:
            raise DataError(
                f"a crop of {crop_height} x {crop_width} is larger than the image of {height} x {width}; use a "
                "smaller crop or larger images"
            )
        return crop_height, crop_width

    def __call__(self, image: Array, random: Random, out: Pixels | None = None) -> Pixels:
        """Return the transformed image. It is written to `out` if that is given. All random numbers come from `random`.

        A constant transform also accepts several images, in an array with one more axis in front.
        """
        if self._area:
            image = self._area(image, random)
        if self._resize:
            image = self._resize(image, random)
        return self.taken(image, self.place(image.shape[-2], image.shape[-1], random), out)

    def place(self, height: int, width: int, random: Random) -> CropPlacement:
        """Return the part to cut out of an image of this size, which is resized already."""
        cropped = self._cropped(height, width)
        mirrored = self._mirror and bool(random.integers(2))
        if self._choice:
            return CropPlacement(*self._choice(height, width, random), mirrored)
        return CropPlacement(*self._offset(height - cropped[0], width - cropped[1], random), *cropped, mirrored)

    def taken(self, image: Array, place: CropPlacement, out: Pixels | None = None) -> Pixels:
        """Return a part of an image, or of several images, after subtracting the mean and scaling.

        If `out` contains bytes, mean and scale are left for later.
        """
        window = (..., slice(place.top, place.top + place.height), slice(place.left, place.left + place.width))
        height, width = self._crop or (place.height, place.width)
        step = -1 if place.mirrored else 1
        out = np.empty((*image.shape[:-2], height, width), np.float32) if out is None else out
        if out.dtype == np.uint8 != image.dtype:
            raise DataError(
                "the first image of a batch has bytes, but this one has other numbers; write them again with "
                "`zoo data convert`, which stores bytes"
            )
        out[...] = _resized(image[window], height, width)[..., ::step]
        if place.mirrored and self._is_flow:
            out[..., ::2, :, :] = 255 - out[..., ::2, :, :]
        if out.dtype == np.uint8:
            return out
        mean = self._mean.of(image.shape[-3:])
        if mean is not None:
            # As in TSN, parts of several sizes use the mean of the upper left corner.
            out -= mean[(..., slice(height), slice(width)) if self._mean_is_fixed else window][..., ::step]
        if self.scale != 1:
            out *= np.float32(self.scale)
        return out

    @property
    def mean_is_even(self) -> bool:
        """Whether the mean is the same for all pixels of a channel."""
        return self._mean.image is None

    def even_mean(self, channels: int) -> list[float]:
        """Return the mean of each channel, if it is the same for all pixels. The result is empty without a mean."""
        mean = self._mean.of_channels(channels, 1, 1)
        return [] if mean is None else [float(value) for value in mean.flat]

    def _offset(self, free_height: int, free_width: int, random: Random) -> tuple[int, int]:
        if self._train and self._crop:
            return int(random.integers(free_height + 1)), int(random.integers(free_width + 1))
        return free_height // 2, free_width // 2


def _crop(p: pb.TransformationParameter) -> tuple[int, int] | None:
    if p.crop_size and (p.crop_h or p.crop_w):
        raise DataError(
            "transform_param has both crop_size and crop_h or crop_w; remove crop_size, or remove the others"
        )
    if bool(p.crop_h) != bool(p.crop_w):
        raise DataError("only one of crop_h and crop_w is given; give both or neither")
    height, width = p.crop_h or p.crop_size, p.crop_w or p.crop_size
    return (height, width) if height else None


def _resized(image: Array, height: int, width: int) -> Array:
    """Return an image in a size. As in TSN, channels are resized separately, because OpenCV treats many channels
    differently."""
    if image.shape[-2:] == (height, width):
        return image
    pixels = image if image.dtype == np.uint8 else image.astype(np.float32)
    return np.concatenate([resize(plane[None], height, width) for plane in pixels])


def _check_fields(p: pb.TransformationParameter) -> None:
    """Raise a DataError for settings of forks that aren't supported."""
    changed = [field.name for field, value in p.ListFields() if value != field.default_value]
    for_boxes = [name for name in changed if name in FOR_BOXES]
    if for_boxes:
        raise DataError(
            f"transform_param: {', '.join(for_boxes)} only works for images with boxes, in Caffe too; remove "
            "it, or read a database of images with boxes with an AnnotatedData layer"
        )
    unsupported = [name for name in changed if name not in _SUPPORTED]
    if unsupported or len(p.resize_param) > 1:
        names = ", ".join(unsupported) or "more than one resize_param"
        raise DataError(
            f"transform_param: {names}: not supported; remove it, and change the images before you store them with "
            "`zoo data convert`"
        )


@dataclass(frozen=True)
class PairedTransform:
    """A transform of an image and its labels. `values` only changes values: it subtracts the mean and scales.

    `crop` is a height and a width, at a random place or in the center. `padding` is the label with which smaller images
    are padded on the right and at the bottom. Their pixels are padded with zeros after `values`, which is the same as
    padding with the mean before. `scales` are the factors from which one is drawn for each image.
    """

    values: Callable[[Array], Pixels]
    crop: tuple[int, int] | None
    at_random: bool
    mirror: bool
    padding: int | None = None
    scales: tuple[float, ...] = ()

    def __call__(self, image: Array, labels: Array, random: Random, where: str) -> tuple[Pixels, Pixels]:
        """Return the image and its labels in the net's form. `where` names the image in errors."""
        if image.shape[1:] != labels.shape[1:]:
            raise DataError(
                f"{where}: the image is {image.shape[1:]}, but its labels are {labels.shape[1:]}; resize the "
                "labels to the image's size"
            )
        mirrored = self.mirror and bool(random.integers(2))
        image, labels = self._scaled(image, labels, random)
        size = self.crop or (image.shape[1], image.shape[2])
        self._check_crop_fits(image.shape, size, where)
        window = self._window(image.shape, size, random)
        step = -1 if mirrored else 1
        pixels = self.values(image[window][:, :, ::step])
        return (
            _padded(pixels, size, 0, mirrored),
            _padded(labels[window][:, :, ::step], size, self.padding or 0, mirrored),
        )

    def _scaled(self, image: Array, labels: Array, random: Random) -> tuple[Array, Array]:
        scale = np.float32(self.scales[random.integers(len(self.scales))]) if self.scales else np.float32(1)
        if scale == 1:
            return image, labels
        height, width = (int(np.float32(length) * scale) for length in image.shape[1:])
        return resize(image, height, width), resize(labels, height, width, Interpolation.NEAREST)

    def _check_crop_fits(self, shape: tuple[int, ...], size: tuple[int, int], where: str) -> None:
        if self.padding is None and (size[0] > shape[1] or size[1] > shape[2]):
            raise DataError(
                f"{where}: a crop of {size[0]} x {size[1]} is larger than the image of {shape[1]} x {shape[2]}; "
                "use a smaller crop or larger images"
            )

    def _window(self, shape: tuple[int, ...], size: tuple[int, int], random: Random) -> tuple[slice, slice, slice]:
        margins = [max(length - cropped, 0) for length, cropped in zip(shape[1:], size, strict=True)]
        top, left = (int(random.integers(margin + 1)) if self.at_random else margin // 2 for margin in margins)
        return slice(None), slice(top, top + size[0]), slice(left, left + size[1])


def _padded(values: Array, size: tuple[int, int], padding: int, mirrored: bool) -> Pixels:
    """Return the values in an array of this size. They are padded on the right, or on the left if they are mirrored."""
    channels, height, width = values.shape
    result = np.full((channels, *size), padding, np.float32)
    left = size[1] - width if mirrored else 0
    result[:, :height, left : left + width] = values
    return result
