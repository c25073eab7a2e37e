"""Images with marked objects as items for SSD's data layer, in the form that its databases have them in."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, AnnotatedSet, MarkedObject
from netdsl.data.sources.annotations.masks import class_map
from netdsl.data.sources.source import Item
from netdsl.data.transforms.boxes import COLUMNS
from netdsl.data.transforms.decode import Color, decode_pixels
from netdsl.data.types import Array
from netdsl.errors import DataError


def normalised_edges(marked: MarkedObject, image: AnnotatedImage, first_pixel: int) -> NDArray[np.float32]:
    """An object's box in parts of its image.

    The rule of SSD's own converter: the numbers of the set's files are divided by the size, wherever they begin, so
    that a box of Pascal VOC begins at a pixel's far edge.
    """
    left, top, right, bottom = marked.edges
    corners = np.array([left + first_pixel, top + first_pixel, right, bottom], np.float32)
    return np.asarray(corners / np.array([image.width, image.height] * 2, np.float32), np.float32)


class MarkedItems:
    """The images of a set with a row for each object in them, and with `maps` a class for each pixel.

    Rows are those that a database has which was made of the set.
    """

    annotated = True

    def __init__(self, marked: AnnotatedSet, color: Color, *, maps: bool = False) -> None:
        self._marked, self._color, self._maps = marked, color, maps
        self.classes = tuple(marked.classes)

    def __len__(self) -> int:
        return len(self._marked)

    def fetch(self, index: int) -> tuple[AnnotatedImage, bytes]:
        """An image with its objects, and its bytes."""
        image = self._marked.image(index)
        return image, image.read()

    def item(self, fetched: tuple[AnnotatedImage, bytes]) -> Item:
        """The image, its rows, and maybe its map of classes."""
        image, data = fetched
        pixels = decode_pixels(data, self._color, str(image.path)).transpose(2, 0, 1)
        return pixels, self._rows(image), *self._map(image)

    def _rows(self, image: AnnotatedImage) -> Array:
        numbers, rows = Counter[int](), []
        for marked in image.objects:
            box = normalised_edges(marked, image, self._marked.first_pixel)
            rows.append((marked.label, numbers[marked.label], *box, marked.difficult or marked.crowd))
            numbers[marked.label] += 1
        return np.array(rows, np.float32).reshape(-1, COLUMNS)

    def _map(self, image: AnnotatedImage) -> tuple[Array, ...]:
        if not self._maps:
            return ()
        pixels = class_map(image)
        if pixels is None:
            raise DataError(f"{image.path}: has only boxes, and the layer's third top needs a class for each pixel")
        return (pixels[None],)

    def close(self) -> None:
        """Do nothing: sets hold no file open that matters."""
