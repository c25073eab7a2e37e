"""Computes the pixels of objects in an image, from polygons, runs, or maps of all objects."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, Edges, MarkedObject, Outline
from netdsl.data.sources.files import read_bytes
from netdsl.data.transforms.decode import decode_indices
from netdsl.errors import DataError

Mask = NDArray[np.bool_]  # rows and columns
PixelMap = NDArray[np.uint8]

UNKNOWN = 255  # in maps, as in Pascal VOC
_MOST_OBJECTS = UNKNOWN - 1  # the largest number of objects in a map


def object_masks(image: AnnotatedImage) -> list[Mask | None]:
    """Return the mask of each object, or `None` for objects that only have a box."""
    if image.object_map is not None:
        numbers = read_map(image.object_map, image)
        masks = [numbers == number for number in range(1, len(image.objects) + 1)]
        return [mask if mask.any() else None for mask in masks]
    return [_mask(marked, image.height, image.width) for marked in image.objects]


def class_map(image: AnnotatedImage) -> PixelMap | None:
    """Return the class of each pixel. Crowds, and boxes whose pixels aren't known, contain 255.

    Returns `None` if no object has known pixels.
    """
    if image.class_map is not None:
        return read_map(image.class_map, image)
    labels = [UNKNOWN if marked.crowd else marked.label for marked in image.objects]
    return _map(image, labels)


def object_map(image: AnnotatedImage) -> PixelMap | None:
    """Return the number, from 1 on, of the object to which each pixel belongs. Otherwise like `class_map`.

    Returns `None` if only the classes of pixels are known.
    """
    if image.object_map is not None:
        return read_map(image.object_map, image)
    if image.class_map is not None and not image.objects:
        return None
    if len(image.objects) > _MOST_OBJECTS:
        raise DataError(
            f"{image.path}: the image has {len(image.objects)} objects, but a map can only number "
            f"{_MOST_OBJECTS}; remove some, or write coco: instead"
        )
    return _map(image, [UNKNOWN if marked.crowd else number for number, marked in enumerate(image.objects, 1)])


def read_map(path: Path, image: AnnotatedImage) -> PixelMap:
    """Return the bytes of a map's pixels. For a map with a palette, these are indices into the palette."""
    pixels = decode_indices(read_bytes(str(path)), str(path))
    if pixels.shape != (image.height, image.width):
        height, width = pixels.shape
        raise DataError(
            f"{path}: the map has {height} x {width} pixels, but {image.path} has {image.height} x "
            f"{image.width}; resize one of them, or name the map of this image"
        )
    return pixels


def _map(image: AnnotatedImage, numbers: Sequence[int]) -> PixelMap | None:
    """Return a map of all masks. Smaller masks cover larger ones. Boxes without masks are below all of them."""
    masks = object_masks(image)
    if image.objects and all(mask is None for mask in masks):
        return None
    pixels = np.zeros((image.height, image.width), np.uint8)
    for marked, mask in zip(image.objects, masks, strict=True):
        if mask is None:
            pixels[pixels_inside(marked.edges)] = UNKNOWN
    drawn = [(mask, number) for mask, number in zip(masks, numbers, strict=True) if mask is not None]
    for mask, number in sorted(drawn, key=lambda pair: -int(pair[0].sum())):
        pixels[mask] = number
    return pixels


def edges_of(mask: Mask) -> Edges:
    """Return the box around the pixels of a mask that isn't empty."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    return Edges(float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1))


def pixels_inside(edges: Edges) -> tuple[slice, slice]:
    """Return the rows and columns of the pixels that a box touches."""
    left, top = (max(0, int(np.floor(edge))) for edge in edges[:2])
    right, bottom = (max(0, int(np.ceil(edge))) for edge in edges[2:])
    return slice(top, bottom), slice(left, right)


def _mask(marked: MarkedObject, height: int, width: int) -> Mask | None:
    if marked.runs is not None:
        return marked.runs.mask()
    if not marked.outlines:
        return None
    mask = np.zeros((height, width), bool)
    for outline in marked.outlines:
        mask |= _filled(outline, height, width)
    return mask


def _filled(outline: Outline, height: int, width: int) -> Mask:
    """Return the pixels whose centers are inside a polygon.

    To the left of such a pixel, the polygon's edges cross the pixel's row an odd number of times.
    """
    crossings = np.zeros((height, width + 1), np.int64)
    middles = np.arange(height) + 0.5
    for (x1, y1), (x2, y2) in zip(outline, (*outline[1:], outline[0]), strict=True):
        rows = np.flatnonzero((middles >= min(y1, y2)) & (middles < max(y1, y2)))
        if len(rows):
            x = x1 + (middles[rows] - y1) * ((x2 - x1) / (y2 - y1))
            crossings[rows, np.clip(np.ceil(x - 0.5), 0, width).astype(np.int64)] += 1
    inside: Mask = np.cumsum(crossings, axis=1)[:, :width] % 2 == 1
    return inside
