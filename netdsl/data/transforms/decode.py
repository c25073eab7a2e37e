"""Decodes images within a limit of pixels, and converts their channels."""

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
from caffe_proto.whole_numbers import whole_number
from netdsl.data.transforms.image_formats import JPEG, PNG, TIFF
from netdsl.data.types import Array
from netdsl.errors import DataError

_VARIABLE = "OPENCV_IO_MAX_IMAGE_PIXELS"  # OpenCV reads it when it is imported
_PIXELS = 1 << 26
_COSTLY = 4  # divides the limit where decoding needs several times the memory
_COSTLY_STARTS = (b"\xff\x4f\xff\x51", b"\x00\x00\x00\x0cjP")  # JPEG 2000
_TIFF = (*TIFF, b"II+\0", b"MM\0+")  # with those of more than 4 GB
_TILE_WIDTH, _TILE_HEIGHT = 322, 323  # TIFF's tags
_PNG_DEPTH = 24  # the place of the number of bits in a value
_CHUNK = 12  # bytes of a PNG's chunk in addition to its data
_AVIF = b"ftyp"  # at byte 4
_JPEG_TABLES = {0xC4, 0xDB, 0xDD, 0xFE, *range(0xE0, 0xF0)}  # segments that can precede the size
_JPEG_SIZES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
_FFMPEG_LOG, _SILENT = "OPENCV_FFMPEG_LOGLEVEL", "-8"  # OpenCV reads it when it opens the first video
_INDEXED = ("P", "L")  # Pillow's modes for images whose pixels are one byte
_LARGE = 1 << 24  # bytes above which an image's channels aren't copied twice, which is slower but needs less memory
GRAY, COLORS = 1, 3  # channels
_TRANSPARENT = 4  # channels of an image whose last channel is transparency


class ImageLimit:
    """The limit on pixels. OpenCV applies it itself, unless the program imported OpenCV first."""

    def __init__(self) -> None:
        self._opencv_applies_it = "cv2" not in sys.modules
        if self._opencv_applies_it:
            os.environ.setdefault(_VARIABLE, str(_PIXELS))
        pixels = whole_number(os.environ.get(_VARIABLE, ""))
        self.pixels = _PIXELS if pixels is None else pixels

    def check(self, data: bytes, as_stored: bool, where: str) -> None:
        """Raise a `DataError` for an image that is too large to decode, if OpenCV itself wouldn't refuse it."""
        if data.startswith(PNG) and _claims_too_much(data):
            raise DataError(
                f"{where}: can't be decoded as an image; a part is longer than the file, so it's damaged; "
                "download or write it again"
            )
        costly = _is_costly(data, as_stored)
        if self._opencv_applies_it and not costly and not data.startswith(_TIFF):
            return
        limit, pixels = self.pixels // _COSTLY if costly else self.pixels, _jpeg_pixels(data) or _pixels(BytesIO(data))
        if pixels is None and (costly or not self._opencv_applies_it):
            raise DataError(
                f"{where}: can't be decoded as an image; it's damaged, or its size is unknown before it is "
                "decoded, so download it again, or convert it to PNG or JPEG"
            )
        if pixels is not None and pixels > limit:
            raise _too_large(where, pixels, limit)

    def check_size(self, height: int, width: int, where: str) -> None:
        """Raise a `DataError` for a video whose frames are too large."""
        if height * width > self.pixels:
            raise _too_large(where, height * width, self.pixels)

    def check_file(self, path: str | Path) -> None:
        """Raise a `DataError` for a file that Pillow will decode, if its image is too large."""
        pixels = _pixels(path)
        if pixels is not None and pixels > self.pixels:
            raise _too_large(str(path), pixels, self.pixels)

    def check_palette(self, data: bytes, where: str) -> None:
        """Raise a `DataError` for an image whose indices Pillow will decode, if it is too large."""
        pixels = _pixels(BytesIO(data))
        if pixels is None or (data.startswith(PNG) and _claims_too_much(data)):
            raise DataError(
                f"{where}: can't be decoded as an image; it's damaged, or its format is unknown, so download it "
                "again, or convert it to PNG"
            )
        if pixels > self.pixels:
            raise _too_large(where, pixels, self.pixels)

    def refused(self, data: bytes, where: str) -> DataError:
        """Return the error for an image that OpenCV refused."""
        return _too_large(where, _pixels(BytesIO(data)), self.pixels)


def _too_large(where: str, pixels: int | None, limit: int) -> DataError:
    """Return the error for an image that is too large."""
    has = "more pixels" if pixels is None else f"{pixels:,} pixels, more"
    return DataError(
        f"{where}: the image has {has} than the limit of {limit:,} for such files; make it smaller, or set "
        f"{_VARIABLE} before Python starts"
    )


def _is_costly(data: bytes, as_stored: bool) -> bool:
    if data.startswith(_COSTLY_STARTS) or data[4:8] == _AVIF:
        return True
    is_deep_png = data.startswith(PNG) and data[_PNG_DEPTH : _PNG_DEPTH + 1] == b"\x10"
    return as_stored and (is_deep_png or data.startswith(_TIFF))


def _claims_too_much(png: bytes) -> bool:
    """Return whether a chunk claims more bytes than the file has. OpenCV would allocate them."""
    place = len(PNG)
    while place + _CHUNK <= len(png):
        length = int.from_bytes(png[place : place + 4])
        if length > len(png):
            return True
        place += length + _CHUNK
    return False


def _jpeg_pixels(data: bytes) -> int | None:
    """Return the number of pixels that a JPEG claims to have, or `None` if it isn't of the usual kind.

    This is much faster than using Pillow.
    """
    place = len(JPEG) - 1  # of the first segment
    while data.startswith(JPEG) and place + 9 <= len(data) and data[place] == 0xFF:
        if data[place + 1] in _JPEG_SIZES:
            return int.from_bytes(data[place + 5 : place + 7]) * int.from_bytes(data[place + 7 : place + 9])
        if data[place + 1] not in _JPEG_TABLES:
            return None
        place += 2 + int.from_bytes(data[place + 2 : place + 4])
    return None


def _pixels(file: str | Path | BytesIO) -> int | None:
    """Return the number of pixels that an image or a tile of a TIFF claims to have, or `None` if it is unknown."""
    library = import_extra("PIL.Image", "data", "measuring images needs Pillow")
    try:
        with library.open(file) as image:
            tags = getattr(image, "tag_v2", {})
            width, height = image.size
            return int(max(width, tags.get(_TILE_WIDTH, 0)) * max(height, tags.get(_TILE_HEIGHT, 0)))
    except (library.DecompressionBombError, library.DecompressionBombWarning) as problem:
        return int(re.findall(r"\d+", str(problem))[0])
    except Exception:  # Pillow's many readers raise any error for damaged files
        return None


class Color(Enum):
    """The channels of a decoded image. The values are OpenCV's."""

    AS_STORED = -1
    GRAY = 0
    COLOR = 1

    @classmethod
    def of(cls, p: pb.TransformationParameter) -> Color:
        """Return the channels for `force_color` and `force_gray`, which Caffe applies to encoded images in
        databases."""
        if p.force_color and p.force_gray:
            raise DataError("transform_param has both force_color and force_gray; remove one of them")
        return cls.COLOR if p.force_color else cls.GRAY if p.force_gray else cls.AS_STORED


class Interpolation(Enum):
    """The interpolation of a resized image. The values are OpenCV's."""

    NEAREST = 0
    LINEAR = 1
    CUBIC = 2
    AREA = 3
    LANCZOS4 = 4


@cache
def image_limit() -> ImageLimit:
    """Return the limit on pixels. It must be called before OpenCV is imported."""
    return ImageLimit()


@cache
def opencv() -> Any:
    """Return the cv2 package, which is imported only here, with a limit on the pixels of an image.

    FFmpeg's own messages are silenced, because errors describe problems with videos.
    """
    image_limit()
    os.environ.setdefault(_FFMPEG_LOG, _SILENT)
    return import_extra("cv2", "data", "images need OpenCV")


def decode(data: bytes, color: Color, where: str) -> Array:
    """Return an encoded image as channels, height, width. Colors are in the order blue, green, red."""
    return planes(decode_pixels(data, color, where))


def decode_pixels(data: bytes, color: Color, where: str) -> Array:
    """Return an encoded image as height, width, channels, which is OpenCV's order."""
    cv2 = opencv()
    image_limit().check(data, color is Color.AS_STORED, where)
    try:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), color.value)
    except cv2.error as problem:
        if "CV_IO_MAX_IMAGE" in problem.err:
            raise image_limit().refused(data, where) from None
        raise DataError(f"{where}: can't be decoded as an image ({problem.err}); convert it to PNG or JPEG") from None
    if image is None:
        raise DataError(
            f"{where}: can't be decoded as an image; it's damaged, or its format is unknown to OpenCV, so "
            "download it again, or convert it to PNG"
        )
    if image.dtype != np.uint8:
        raise DataError(
            f"{where}: the image is of type {image.dtype}, but Caffe's images have 8 bits; convert it to 8 "
            "bits, or decode it in color"
        )
    return np.atleast_3d(image)


def decode_depth(data: bytes, where: str) -> Array:
    """Return an encoded image of one channel, of 8 or 16 bits, as height, width."""
    cv2 = opencv()
    image_limit().check(data, True, where)
    try:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    except cv2.error as problem:
        raise DataError(f"{where}: can't be decoded as an image ({problem.err}); convert it to PNG or JPEG") from None
    if image is None or image.ndim != 2:
        raise DataError(f"{where}: can't be decoded as an image of one channel; convert it to a gray PNG")
    return np.asarray(image)


def decode_indices(data: bytes, where: str) -> NDArray[np.uint8]:
    """Return the indices of an encoded image with a palette, or the gray levels of an image without one.

    OpenCV can only decode colors.
    """
    image_limit().check_palette(data, where)
    library = import_extra("PIL.Image", "data", "images with palettes need Pillow")
    try:
        with library.open(BytesIO(data)) as image:
            mode, pixels = image.mode, np.array(image)
    except Exception as problem:  # Pillow's many readers raise any error for damaged files
        raise DataError(f"{where}: not an image that can be read: {problem}; convert it to PNG or JPEG") from None
    if mode not in _INDEXED:
        raise DataError(
            f"{where}: the image has colors; a map of labels must have a palette, or gray pixels of one byte, "
            "so convert it to such a PNG"
        )
    return pixels.astype(np.uint8)


def resize(image: Array, height: int, width: int, interpolation: Interpolation = Interpolation.LINEAR) -> Array:
    """Return an image in another size. Axes are channels, height, width."""
    cv2 = opencv()
    pixels = np.ascontiguousarray(image.transpose(1, 2, 0))
    return planes(cv2.resize(pixels, (width, height), interpolation=interpolation.value))


def rescale(image: Array, scale: float) -> Array:
    """Return an image that is enlarged by a factor. Axes are channels, height, width.

    Its sides are rounded, but its pixels aren't stretched to the rounded sides.
    """
    cv2 = opencv()
    pixels = np.ascontiguousarray(image.transpose(1, 2, 0))
    return planes(cv2.resize(pixels, None, fx=scale, fy=scale, interpolation=cv2.INTER_LINEAR))


def planes(image: Array) -> Array:
    """Return an image of height, width, channels as contiguous channels, height, width."""
    if image.nbytes > _LARGE:
        return np.ascontiguousarray(np.atleast_3d(image).transpose(2, 0, 1))
    return np.stack(opencv().split(image))


def in_color(image: Array, color: Color, *, rgb: bool = False) -> Array:
    """Return an image of channels, height, width with the channels of a decoded file.

    As in OpenCV, transparency is dropped, and gray becomes three equal channels. `rgb` is set if the image's channels
    are red, green, blue.
    """
    if color is Color.AS_STORED:
        return image
    if image.ndim != 3 or image.shape[0] not in (GRAY, COLORS, _TRANSPARENT):
        raise DataError(
            f"values of shape {list(image.shape)} aren't an image of 1, 3 or 4 channels; leave out the options "
            "that change colors"
        )
    image = image[:COLORS]
    if image.shape[0] == GRAY:
        return image.repeat(COLORS, axis=0) if color is Color.COLOR else image
    image = image[::-1] if rgb else image
    return image if color is Color.COLOR else without_color(image)


def without_color(image: Array) -> Array:
    """Return a gray image of one channel for an image in blue, green, red. Other images stay as they are."""
    if image.ndim != 3 or image.shape[0] != COLORS:
        return image
    cv2 = opencv()
    pixels = np.ascontiguousarray(image.transpose(1, 2, 0), None if image.dtype == np.uint8 else np.float32)
    return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY))[np.newaxis]
