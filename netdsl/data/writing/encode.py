"""Encoding of images."""

from __future__ import annotations

from enum import Enum

import numpy as np

from netdsl.data.transforms.decode import opencv
from netdsl.data.types import Array
from netdsl.errors import DataError


class ImageFormat(Enum):
    """The format of an encoded image; the values are the endings of such files."""

    JPG = "jpg"
    PNG = "png"

    def matches(self, data: bytes) -> bool:
        """Whether an encoded image is of this format."""
        return data.startswith(_SIGNATURES[self])


_SIGNATURES = {ImageFormat.JPG: b"\xff\xd8\xff", ImageFormat.PNG: b"\x89PNG\r\n\x1a\n"}
_CHANNELS = (1, 3, 4)


def encode(image: Array, image_format: ImageFormat, where: str) -> bytes:
    """An image of channels, height, width, in the order blue, green, red, as the bytes of a file."""
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[0] not in _CHANNELS:
        raise DataError(f"{where}: {image.dtype} values of shape {image.shape} can't be a {image_format.value} image")
    cv2 = opencv()
    try:
        _, data = cv2.imencode(f".{image_format.value}", np.ascontiguousarray(image.transpose(1, 2, 0)))
    except cv2.error as problem:
        raise DataError(f"{where}: shape {image.shape} can't be a {image_format.value} image ({problem.err})") from None
    return bytes(data)
