"""Images decoded, within a limit of pixels, and the channels that they get."""

from __future__ import annotations

import os
import re
import sys
from enum import Enum
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import import_extra
from netdsl.data.types import Array
from netdsl.errors import DataError

_VARIABLE = "OPENCV_IO_MAX_IMAGE_PIXELS"  # OpenCV reads it when it is imported
_PIXELS = 1 << 26
_COSTLY = 4  # where decoding needs several times the memory, this many times fewer pixels are allowed
_COSTLY_STARTS = (b"\xff\x4f\xff\x51", b"\x00\x00\x00\x0cjP")  # JPEG 2000
_TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_TILE_WIDTH, _TILE_HEIGHT = 322, 323  # tags of TIFF
_PNG, _PNG_DEPTH = b"\x89PNG\r\n\x1a\n", 24  # the place of how many bits a value has
_CHUNK = 12  # bytes of a PNG's chunk beside its data
_AVIF = b"ftyp"  # at the fourth byte
_JPEG, _JPEG_TABLES = b"\xff\xd8", {0xC4, 0xDB, 0xDD, 0xFE, *range(0xE0, 0xF0)}  # parts that may be before the size
_JPEG_SIZES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
_FFMPEG_LOG, _SILENT = "OPENCV_FFMPEG_LOGLEVEL", "-8"  # OpenCV reads it when it opens the first video
_INDEXED = ("P", "L")  # Pillow's modes of images whose pixels are one byte
_LARGE = 1 << 24  # bytes of an image whose channels aren't copied twice: that is slower, and takes less memory
GRAY, COLORS = 1, 3  # channels
_TRANSPARENT = 4  # channels of an image whose last one says how transparent a pixel is


class ImageLimit:
    """The limit on pixels. OpenCV applies it itself, unless it was imported before by somebody else."""

    def __init__(self) -> None:
        self._opencv_applies_it = "cv2" not in sys.modules
        if self._opencv_applies_it:
            os.environ.setdefault(_VARIABLE, str(_PIXELS))
        text = os.environ.get(_VARIABLE, "")
        self.pixels = int(text) if text.isdecimal() else _PIXELS

    def check(self, data: bytes, as_stored: bool, where: str) -> None:
        """A DataError for an image that is too large to decode, if OpenCV itself wouldn't say so."""
        if data.startswith(_PNG) and _claims_too_much(data):
            raise DataError(
                f"{where}: can't be decoded as an image; it's damaged, since a part is longer than the file"
            )
        costly = _is_costly(data, as_stored)
        if self._opencv_applies_it and not costly and not data.startswith(_TIFF):
            return
        limit, pixels = self.pixels // _COSTLY if costly else self.pixels, _jpeg_pixels(data) or _pixels(BytesIO(data))
        if pixels is None and (costly or not self._opencv_applies_it):
            raise DataError(
                f"{where}: can't be decoded as an image; it's damaged, or nobody knows how large it is before it is "
                "decoded: convert it to PNG or JPEG"
            )
        if pixels is not None and pixels > limit:
            raise _too_large(where, pixels, limit)

    def check_size(self, height: int, width: int, where: str) -> None:
        """A DataError for frames of a video that are too large."""
        if height * width > self.pixels:
            raise _too_large(where, height * width, self.pixels)

    def check_file(self, path: str | Path) -> None:
        """A DataError for a file with an image that is too large, which Pillow is going to decode."""
        pixels = _pixels(path)
        if pixels is not None and pixels > self.pixels:
            raise _too_large(str(path), pixels, self.pixels)

    def check_palette(self, data: bytes, where: str) -> None:
        """A DataError for an image whose indices Pillow is going to decode, if there are too many."""
        pixels = _pixels(BytesIO(data))
        if pixels is None or (data.startswith(_PNG) and _claims_too_much(data)):
            raise DataError(f"{where}: can't be decoded as an image; it's damaged, or in a format that nobody knows")
        if pixels > self.pixels:
            raise _too_large(where, pixels, self.pixels)

    def refused(self, data: bytes, where: str) -> DataError:
        """Return the error about an image that OpenCV refused."""
        return _too_large(where, _pixels(BytesIO(data)), self.pixels)


def _too_large(where: str, pixels: int | None, limit: int) -> DataError:
    """Return the error about an image that is too large."""
    has = "more pixels" if pixels is None else f"{pixels:,} pixels, more"
    return DataError(
        f"{where}: has {has} than the {limit:,} that are decoded of such a file; make it smaller, or set {_VARIABLE} "
        "before Python starts"
    )


def _is_costly(data: bytes, as_stored: bool) -> bool:
    if data.startswith(_COSTLY_STARTS) or data[4:8] == _AVIF:
        return True
    is_deep_png = data.startswith(_PNG) and data[_PNG_DEPTH : _PNG_DEPTH + 1] == b"\x10"
    return as_stored and (is_deep_png or data.startswith(_TIFF))


def _claims_too_much(png: bytes) -> bool:
    """Return whether a chunk claims more bytes than the file has, for which OpenCV would make room."""
    place = len(_PNG)
    while place + _CHUNK <= len(png):
        length = int.from_bytes(png[place : place + 4])
        if length > len(png):
            return True
        place += length + _CHUNK
    return False


def _jpeg_pixels(data: bytes) -> int | None:
    """Return how many pixels a JPEG claims to have, much quicker than by Pillow; None if it isn't one of the usual
    kind."""
    place = len(_JPEG)
    while data.startswith(_JPEG) and place + 9 <= len(data) and data[place] == 0xFF:
        if data[place + 1] in _JPEG_SIZES:
            return int.from_bytes(data[place + 5 : place + 7]) * int.from_bytes(data[place + 7 : place + 9])
        if data[place + 1] not in _JPEG_TABLES:
            return None
        place += 2 + int.from_bytes(data[place + 2 : place + 4])
    return None


def _pixels(file: str | Path | BytesIO) -> int | None:
    """Return how many pixels an image claims to have, or one of a TIFF's tiles; None if that can't be known."""
    library = import_extra("PIL.Image", "data", "such images need Pillow")
    try:
        with library.open(file) as image:
            tags = getattr(image, "tag_v2", {})
            width, height = image.size
            return int(max(width, tags.get(_TILE_WIDTH, 0)) * max(height, tags.get(_TILE_HEIGHT, 0)))
    except (library.DecompressionBombError, library.DecompressionBombWarning) as problem:
        return int(re.findall(r"\d+", str(problem))[0])
    except Exception:  # whatever a damaged file makes of Pillow's many readers
        return None


class Color(Enum):
    """The channels that an encoded image is decoded to; the values are OpenCV's."""

    AS_STORED = -1
    GRAY = 0
    COLOR = 1

    @classmethod
    def of(cls, p: pb.TransformationParameter) -> Color:
        """Return the channels for `force_color` and `force_gray`, which Caffe applies to encoded images of
        databases."""
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
    """Return the limit on pixels, which is set before OpenCV is imported."""
    return ImageLimit()


@cache
def opencv() -> Any:
    """Return the cv2 package, which is imported only here, with a limit on the pixels of an image.

    What is wrong with videos is said by errors, and not by FFmpeg.
    """
    image_limit()
    os.environ.setdefault(_FFMPEG_LOG, _SILENT)
    return import_extra("cv2", "data", "images need OpenCV")


def decode(data: bytes, color: Color, where: str) -> Array:
    """Return an encoded image as channels, height, width, with colours in the order blue, green, red."""
    return planes(decode_pixels(data, color, where))


def decode_pixels(data: bytes, color: Color, where: str) -> Array:
    """Return an encoded image as height, width, channels, which is how OpenCV works on images."""
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
    """Return an encoded image of one channel, of 8 or 16 bits, as height, width."""
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
    """Return an encoded image of a palette's colours as their indices, or one without a palette as its gray levels.

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
    """Return an image of channels, height, width in another size."""
    cv2 = opencv()
    pixels = np.ascontiguousarray(image.transpose(1, 2, 0))
    return planes(cv2.resize(pixels, (width, height), interpolation=interpolation.value))


def rescale(image: Array, scale: float) -> Array:
    """Return an image of channels, height, width that is this many times as large. Its sides are rounded, its pixels
    aren't stretched for that."""
    cv2 = opencv()
    pixels = np.ascontiguousarray(image.transpose(1, 2, 0))
    return planes(cv2.resize(pixels, None, fx=scale, fy=scale, interpolation=cv2.INTER_LINEAR))


def planes(image: Array) -> Array:
    """Return the channels of an image of height, width, channels one after the other."""
    if image.nbytes > _LARGE:
        return np.ascontiguousarray(np.atleast_3d(image).transpose(2, 0, 1))
    return np.stack(opencv().split(image))


def in_color(image: Array, color: Color, *, rgb: bool = False) -> Array:
    """Return an image of channels, height, width with the channels that a decoded file would have; `rgb` is its own
    order.

    Transparency is dropped, as OpenCV does, and gray becomes three equal channels.
    """
    if color is Color.AS_STORED:
        return image
    if image.ndim != 3 or image.shape[0] not in (GRAY, COLORS, _TRANSPARENT):
        raise DataError(f"values of shape {list(image.shape)} are no image of 1, 3 or 4 channels")
    image = image[:COLORS]
    if image.shape[0] == GRAY:
        return image.repeat(COLORS, axis=0) if color is Color.COLOR else image
    image = image[::-1] if rgb else image
    return image if color is Color.COLOR else without_color(image)


def without_color(image: Array) -> Array:
    """Return a gray image of one channel for one of blue, green, red; other images stay as they are."""
    if image.ndim != 3 or image.shape[0] != COLORS:
        return image
    cv2 = opencv()
    pixels = np.ascontiguousarray(image.transpose(1, 2, 0), None if image.dtype == np.uint8 else np.float32)
    return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY))[np.newaxis]
