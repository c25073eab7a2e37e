"""Decoding and resizing of images with OpenCV, which is what Caffe reads images with."""

from __future__ import annotations

import os
from enum import Enum
from functools import cache
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import import_extra
from netdsl.data.transforms.image_limit import ImageLimit
from netdsl.data.types import Array
from netdsl.errors import DataError

_FFMPEG_LOG, _SILENT = "OPENCV_FFMPEG_LOGLEVEL", "-8"  # OpenCV reads it when it opens the first video
_INDEXED = ("P", "L")  # Pillow's modes of images whose pixels are one byte
_LARGE = 1 << 24  # bytes of an image whose channels aren't copied twice: that is slower, and takes less memory


class Color(Enum):
    """The channels that an encoded image is decoded to; the values are OpenCV's."""

    AS_STORED = -1
    GRAY = 0
    COLOR = 1

    @classmethod
    def of(cls, p: pb.TransformationParameter) -> Color:
        """The channels for `force_color` and `force_gray`, which Caffe applies to encoded images of databases."""
        if p.force_color and p.force_gray:
            raise DataError("transform_param has both force_color and force_gray: remove one")
        return cls.COLOR if p.force_color else cls.GRAY if p.force_gray else cls.AS_STORED


class Interpolation(Enum):
    """How an image is resized; the values are OpenCV's."""

    NEAREST = 0
    LINEAR = 1
    CUBIC = 2
    AREA = 3
    LANCZOS4 = 4


@cache
def image_limit() -> ImageLimit:
    """The limit on pixels, which is set before OpenCV is imported."""
    return ImageLimit()


@cache
def opencv() -> Any:
    """The cv2 package, which is imported only here, with a limit on the pixels of an image.

    What is wrong with videos is said by errors, and not by FFmpeg.
    """
    image_limit()
    os.environ.setdefault(_FFMPEG_LOG, _SILENT)
    return import_extra("cv2", "data", "images need OpenCV")


def decode(data: bytes, color: Color, where: str) -> Array:
    """An encoded image as channels, height, width, with colours in the order blue, green, red."""
    return planes(decode_pixels(data, color, where))


def decode_pixels(data: bytes, color: Color, where: str) -> Array:
    """An encoded image as height, width, channels, which is how OpenCV works on images."""
    cv2 = opencv()
    image_limit().check(data, color is Color.AS_STORED, where)
    try:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), color.value)
    except cv2.error as problem:
        if "CV_IO_MAX_IMAGE" in problem.err:
            raise image_limit().refused(data, where) from None
        raise DataError(f"{where}: can't be decoded as an image ({problem.err})") from None
    if image is None:
        raise DataError(f"{where}: can't be decoded as an image; it's damaged, or in a format that OpenCV doesn't know")
    if image.dtype != np.uint8:
        raise DataError(
            f"{where}: is an image of type {image.dtype}, and Caffe's have 8 bits: convert it, or decode it in colour"
        )
    return np.atleast_3d(image)


def decode_depth(data: bytes, where: str) -> Array:
    """An encoded image of one channel, of 8 or 16 bits, as height, width."""
    cv2 = opencv()
    image_limit().check(data, True, where)
    try:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    except cv2.error as problem:
        raise DataError(f"{where}: can't be decoded as an image ({problem.err})") from None
    if image is None or image.ndim != 2:
        raise DataError(f"{where}: can't be decoded as an image of one channel")
    return np.asarray(image)


def decode_indices(data: bytes, where: str) -> NDArray[np.uint8]:
    """An encoded image of a palette's colours as their indices, or one without a palette as its gray levels.

    OpenCV knows colours only.
    """
    image_limit().check_palette(data, where)
    library = import_extra("PIL.Image", "data", "images with palettes need Pillow")
    try:
        with library.open(BytesIO(data)) as image:
            mode, pixels = image.mode, np.array(image)
    except Exception as problem:  # whatever a damaged file makes of Pillow's many readers
        raise DataError(f"{where}: isn't an image that can be read: {problem}") from None
    if mode not in _INDEXED:
        raise DataError(f"{where}: has colours; a map of labels must have a palette, or gray pixels of one byte")
    return pixels.astype(np.uint8)


def resize(image: Array, height: int, width: int, interpolation: Interpolation = Interpolation.LINEAR) -> Array:
    """An image of channels, height, width in another size."""
    cv2 = opencv()
    pixels = np.ascontiguousarray(image.transpose(1, 2, 0))
    return planes(cv2.resize(pixels, (width, height), interpolation=interpolation.value))


def rescale(image: Array, scale: float) -> Array:
    """An image of channels, height, width that is so many times as large. Its sides are rounded, its pixels aren't
    stretched for that."""
    cv2 = opencv()
    pixels = np.ascontiguousarray(image.transpose(1, 2, 0))
    return planes(cv2.resize(pixels, None, fx=scale, fy=scale, interpolation=cv2.INTER_LINEAR))


def planes(image: Array) -> Array:
    """The channels of an image of height, width, channels one after the other."""
    if image.nbytes > _LARGE:
        return np.ascontiguousarray(np.atleast_3d(image).transpose(2, 0, 1))
    return np.stack(opencv().split(image))
