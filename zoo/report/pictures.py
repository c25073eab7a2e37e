"""Arrays as pictures in a page, in the form of PNGs in data URIs, and the filters of a net's first layer with
weights."""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netdsl.data.transforms.image_formats import PNG
from netdsl.html_table import image_address
from netdsl.layer import Shape
from netdsl.model.model import Model
from netdsl.model.weights.match import Weights
from netdsl.net.build import Built
from netdsl.net.graph import Phase

Pixels = NDArray[np.uint8]  # rows of gray pixels, or of red, green and blue pixels

_GRAY, _RGB = 0, 2  # PNG's color types
_MOST_SIDE = 96  # maximum side of a picture in pixels, since a page contains many

_MOST_FILTERS = 96  # maximum number of filters that are shown


def is_image(shape: tuple[int, ...]) -> bool:
    """Return whether values of a shape can be shown as an image. The shape is channels (1 or 3), height and width."""
    return len(shape) == 3 and shape[0] in (1, 3) and min(shape[1:]) > 1


def pixels_of(values: NDArray[np.float32]) -> Pixels:
    """Return the pixels of an image. Values are stretched to the whole range, and three channels are blue, green,
    red."""
    side = max(values.shape[1:])
    step = -(-side // _MOST_SIDE)
    values = np.nan_to_num(values[:, ::step, ::step].astype(np.float64), posinf=0, neginf=0)
    scaled = (values - values.min()) * (255 / (np.ptp(values) or 1.0))
    rows = scaled.round().astype(np.uint8).transpose(1, 2, 0)
    pixels: Pixels = rows[..., 0] if len(values) == 1 else rows[..., ::-1]
    return pixels


def data_uri(pixels: Pixels) -> str:
    """Return pixels as a PNG in a data URI."""
    return image_address(png_of_pixels(pixels))


def png_of_pixels(pixels: Pixels) -> bytes:
    """Return pixels as the bytes of a PNG."""
    height, width = pixels.shape[:2]
    head = struct.pack(">IIBBBBB", width, height, 8, _GRAY if pixels.ndim == 2 else _RGB, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in np.ascontiguousarray(pixels))  # 0 means an unfiltered row
    return PNG + _png_chunk(b"IHDR", head) + _png_chunk(b"IDAT", zlib.compress(rows, 9)) + _png_chunk(b"IEND", b"")


def _png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


@dataclass(frozen=True)
class FirstFilters:
    """The filters of a layer, as weights of an image's pixels."""

    layer: str
    total: int
    shape: Shape
    images: tuple[Pixels, ...]


def first_filters(model: Model, weights: Weights) -> FirstFilters | None:
    """Return the filters of the first layer with weights, or `None` if they aren't images."""
    built = model.layers(Phase.TRAIN)
    for node in built.graph.nodes:
        arrays = weights.get(node.layer.name)
        if arrays and np.asarray(arrays[0]).ndim > 1:
            return _filters_of_blob(
                node.layer.name, np.asarray(arrays[0], np.float32), _bottom_shape(built, node.bottoms)
            )
    return None


def _bottom_shape(built: Built, edges: tuple[int, ...]) -> Shape:
    return built.shapes[edges[0]][1:] if edges else ()


def _filters_of_blob(layer: str, values: NDArray[np.float32], bottom: Shape) -> FirstFilters | None:
    """Return the filters in a blob: windows, or whole images for a layer that is connected to every pixel."""
    shape = values.shape[1:] if values.ndim == 4 else bottom
    if not is_image(shape) or math.prod(shape) != math.prod(values.shape[1:]):
        return None
    images = tuple(pixels_of(each.reshape(shape)) for each in values[:_MOST_FILTERS])
    return FirstFilters(layer, len(values), shape, images)
