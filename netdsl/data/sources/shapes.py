"""Draws images of shapes, such as circles, squares, triangles and stars, for trying things out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from netdsl.data.sources.source import DataSplit, Item
from netdsl.data.types import Array
from netdsl.errors import DataError

CLASSES = ("circle", "square", "star", "triangle")  # the default shapes
KINDS_OF_SHAPES = (*CLASSES, "cross", "flower", "hexagon", "ring")
SIDE = 48  # pixels
_COUNTS = {DataSplit.TRAIN: 2000, DataSplit.TEST: 400}
_NOISE = 12.0  # standard deviation of the noise, for pixels from 0 to 255

Floats = NDArray[np.float64]


class ShapesSource:
    """Images of one shape and its class. The place, size, angle and color of a shape are random.

    An image depends only on its number and the split, so the data are the same everywhere.
    """

    def __init__(self, split: DataSplit, classes: Sequence[str] = CLASSES) -> None:
        for name in classes:
            if name not in KINDS_OF_SHAPES:
                raise DataError(f"shapes: there is no shape '{name}'; choose from {', '.join(KINDS_OF_SHAPES)}")
        self.classes, self._split = tuple(classes), split

    def __len__(self) -> int:
        return _COUNTS[self._split]

    def labels(self) -> Array:
        """Return the class of every image."""
        return np.arange(len(self)) % len(self.classes)

    def fetch(self, index: int) -> int:
        """Return the number of an image, from which the image is drawn."""
        return index

    def item(self, fetched: int) -> Item:
        """Return the image and its class."""
        label = fetched % len(self.classes)
        random = np.random.default_rng((list(DataSplit).index(self._split), fetched))
        return draw(self.classes[label], random), np.array(label, np.float32)

    def close(self) -> None:
        """Do nothing, because there are no files."""


def draw(shape: str, random: np.random.Generator) -> NDArray[np.uint8]:
    """Return an image of a shape, as channels, height and width."""
    size = random.uniform(0.5, 0.9) * SIDE / 2
    x, y = random.uniform(size, SIDE - size, 2)
    inside = coverage(shape, (x, y), size, random.uniform(0, 2 * np.pi), (SIDE, SIDE))
    ground, ink = random.uniform(0, 255, (2, 3))
    ink = np.where(np.abs(ink - ground) < 60, (ground + 128) % 256, ink)  # differs from the background
    pixels = ground[:, None, None] + inside * (ink - ground)[:, None, None]
    noisy: NDArray[np.uint8] = np.clip(pixels + random.normal(0, _NOISE, pixels.shape), 0, 255).astype(np.uint8)
    return noisy


def coverage(shape: str, middle: tuple[float, float], size: float, turn: float, image_size: tuple[int, int]) -> Floats:
    """Return the share of each pixel that a shape covers, from 0 to 1. `image_size` is height and width."""
    (x, y), (height, width) = middle, image_size
    rows, columns = np.mgrid[:height, :width] + 0.5
    radius, angle = np.hypot(columns - x, rows - y), np.arctan2(rows - y, columns - x) - turn
    covered: Floats = np.clip(0.5 + size * _outline(shape, angle) - radius, 0, 1)
    return covered - np.clip(0.5 + 0.5 * size - radius, 0, 1) if shape == "ring" else covered


def _outline(shape: str, angle: Floats) -> Floats:
    """Return the distance of a shape's edge from its center at an angle. The largest distance is 1 or slightly less."""
    match shape:
        case "square":
            return _polygon(angle, 4, np.cos(np.pi / 4))
        case "triangle":
            return _polygon(angle, 3, np.cos(np.pi / 3))
        case "hexagon":
            return _polygon(angle, 6, np.cos(np.pi / 6))
        case "star":
            return _polygon(angle, 5, 0.42)
        case "cross":
            return _polygon(angle, 4, 0.3)
        case "flower":
            return 0.7 + 0.3 * np.cos(5 * angle)
        case _:
            return np.full_like(angle, 0.9)


def _polygon(angle: Floats, corners: int, inner: float) -> Floats:
    """Return the edge of a shape whose straight sides connect corners at distance 1 with points between them at
    `inner`."""
    sector = np.pi / corners
    from_corner = np.abs((angle + sector) % (2 * sector) - sector)  # the angle to the nearest corner
    distance: Floats = inner * np.sin(sector) / (np.sin(sector - from_corner) + inner * np.sin(from_corner))
    return distance
