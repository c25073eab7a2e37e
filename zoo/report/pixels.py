"""Arrays as pictures: PNGs in data URIs, which a page has inside itself."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]  # rows of gray pixels, or of red, green and blue ones

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_GRAY, _RGB = 0, 2  # PNG's types of colours
_MOST_SIDE = 96  # pixels of a picture, of which a page has many


def is_image(shape: tuple[int, ...]) -> bool:
    """Whether values of a shape can be shown: channels, which are gray or of three colours, height and width."""
    return len(shape) == 3 and shape[0] in (1, 3) and min(shape[1:]) > 1


def pixels_of(values: NDArray[np.float32]) -> Pixels:
    """The pixels of an image, whose values are brought to the whole range. Three channels are blue, green, red."""
    side = max(values.shape[1:])
    step = -(-side // _MOST_SIDE)
    values = np.nan_to_num(values[:, ::step, ::step].astype(np.float64), posinf=0, neginf=0)
    scaled = (values - values.min()) * (255 / (np.ptp(values) or 1.0))
    rows = scaled.round().astype(np.uint8).transpose(1, 2, 0)
    pixels: Pixels = rows[..., 0] if len(values) == 1 else rows[..., ::-1]
    return pixels


def data_uri(pixels: Pixels) -> str:
    """Pixels as the PNG in a data URI."""
    return "data:image/png;base64," + base64.b64encode(png_of_pixels(pixels)).decode()


def png_of_pixels(pixels: Pixels) -> bytes:
    """Pixels as the bytes of a PNG."""
    height, width = pixels.shape[:2]
    head = struct.pack(">IIBBBBB", width, height, 8, _GRAY if pixels.ndim == 2 else _RGB, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in np.ascontiguousarray(pixels))  # 0: a row as it is
    return _SIGNATURE + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(rows, 9)) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
