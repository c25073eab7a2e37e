"""How many pixels an image may have: a file of a few bytes can claim so many that decoding it fills the memory."""

from __future__ import annotations

import os
import re
import sys
from io import BytesIO
from pathlib import Path

from caffe_proto.errors import import_extra
from netdsl.errors import DataError

_VARIABLE = "OPENCV_IO_MAX_IMAGE_PIXELS"  # OpenCV reads it when it is imported
_PIXELS = 1 << 26
_COSTLY = 4  # where decoding needs several times the memory, so many times fewer pixels are allowed
_COSTLY_STARTS = (b"\xff\x4f\xff\x51", b"\x00\x00\x00\x0cjP")  # JPEG 2000
_TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_TILE_WIDTH, _TILE_HEIGHT = 322, 323  # tags of TIFF
_PNG, _PNG_DEPTH = b"\x89PNG\r\n\x1a\n", 24  # the place of how many bits a value has
_CHUNK = 12  # bytes of a PNG's chunk beside its data
_AVIF = b"ftyp"  # at the fourth byte
_JPEG, _JPEG_TABLES = b"\xff\xd8", {0xC4, 0xDB, 0xDD, 0xFE, *range(0xE0, 0xF0)}  # parts that may be before the size
_JPEG_SIZES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}


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
            raise _error(where, pixels, limit)

    def check_size(self, height: int, width: int, where: str) -> None:
        """A DataError for frames of a video that are too large."""
        if height * width > self.pixels:
            raise _error(where, height * width, self.pixels)

    def check_file(self, path: str | Path) -> None:
        """A DataError for a file with an image that is too large, which Pillow is going to decode."""
        pixels = _pixels(path)
        if pixels is not None and pixels > self.pixels:
            raise _error(str(path), pixels, self.pixels)

    def check_palette(self, data: bytes, where: str) -> None:
        """A DataError for an image whose indices Pillow is going to decode, if there are too many."""
        pixels = _pixels(BytesIO(data))
        if pixels is None or (data.startswith(_PNG) and _claims_too_much(data)):
            raise DataError(f"{where}: can't be decoded as an image; it's damaged, or in a format that nobody knows")
        if pixels > self.pixels:
            raise _error(where, pixels, self.pixels)

    def refused(self, data: bytes, where: str) -> DataError:
        """The error about an image that OpenCV refused."""
        return _error(where, _pixels(BytesIO(data)), self.pixels)


def _error(where: str, pixels: int | None, limit: int) -> DataError:
    """The error about an image that is too large."""
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
    """Whether a chunk claims more bytes than the file has, for which OpenCV would make room."""
    place = len(_PNG)
    while place + _CHUNK <= len(png):
        length = int.from_bytes(png[place : place + 4])
        if length > len(png):
            return True
        place += length + _CHUNK
    return False


def _jpeg_pixels(data: bytes) -> int | None:
    """How many pixels a JPEG claims to have, much quicker than by Pillow; None if it isn't one of the usual kind."""
    place = len(_JPEG)
    while data.startswith(_JPEG) and place + 9 <= len(data) and data[place] == 0xFF:
        if data[place + 1] in _JPEG_SIZES:
            return int.from_bytes(data[place + 5 : place + 7]) * int.from_bytes(data[place + 7 : place + 9])
        if data[place + 1] not in _JPEG_TABLES:
            return None
        place += 2 + int.from_bytes(data[place + 2 : place + 4])
    return None


def _pixels(file: str | Path | BytesIO) -> int | None:
    """How many pixels an image claims to have, or one of a TIFF's tiles; None if that can't be known."""
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
