"""The channels of images: gray, or blue, green and red."""

from __future__ import annotations

import numpy as np

from netdsl.data.transforms.decode import Color, opencv
from netdsl.data.types import Array
from netdsl.errors import DataError

GRAY, COLORS = 1, 3  # channels
_TRANSPARENT = 4  # channels of an image whose last one says how transparent a pixel is


def in_color(image: Array, color: Color, *, rgb: bool = False) -> Array:
    """An image of channels, height, width with the channels that a decoded file would have; `rgb` is its own order.

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
    """A gray image of one channel for one of blue, green, red; other images stay as they are."""
    if image.ndim != 3 or image.shape[0] != COLORS:
        return image
    cv2 = opencv()
    pixels = np.ascontiguousarray(image.transpose(1, 2, 0), None if image.dtype == np.uint8 else np.float32)
    return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY))[np.newaxis]
