"""Pictures of several shapes with their boxes and masks, drawn by this program, to try detection and segmentation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, MarkedObject
from netdsl.data.sources.annotations.class_list import BACKGROUND
from netdsl.data.sources.annotations.drawn_pictures import DrawnPictures, drawn_ground
from netdsl.data.sources.annotations.masks import Mask, edges_of
from netdsl.data.sources.annotations.run_lengths import RunLengths
from netdsl.data.sources.shapes import CLASSES, KINDS_OF_SHAPES, coverage
from netdsl.data.sources.source import DataSplit
from netdsl.errors import DataError

_MOST_SHAPES = 4  # on a picture
_RADII = 0.1, 0.24  # parts of a side, which boxes of more than a tenth and less than half of it come of
_OUTSIDE = 0.06  # parts of a side that a shape's middle keeps from the edge: some shapes go on outside
_HIDDEN = 0.5  # part of a shape that others hide, or that is outside, from which on it is difficult
_LEAST = 0.15  # part that must be seen of a shape, else it isn't drawn
_SPREAD = 0.25  # of a class's colours, in parts of the way to the next class's


@dataclass(frozen=True)
class DrawnShape:
    """A shape: its class, the pixels that it covers, how many it would cover if none were outside, and its colour."""

    label: int
    mask: Mask
    whole: int
    color: NDArray[np.float64]


class DrawnObjects(DrawnPictures):
    """Up to four shapes on each picture, at random places, in random sizes and turns, one over the other.

    Each class has a colour of its own, which varies. Masks and boxes are those of what is seen. Shapes that are mostly
    hidden or outside are difficult; those that go on outside are truncated.
    """

    kind, side = "objects", 96

    def __init__(
        self, split: DataSplit, *, kinds: Sequence[str] = CLASSES, side: int = side, count: int | None = None
    ) -> None:
        for name in kinds:
            if name not in KINDS_OF_SHAPES:
                raise DataError(f"objects: there is no shape '{name}'; there are {', '.join(KINDS_OF_SHAPES)}")
        super().__init__(split, side=side, count=count)
        self.classes, self._kinds = (BACKGROUND, *kinds), tuple(kinds)

    def image(self, index: int) -> AnnotatedImage:
        """A picture and its objects."""
        side, random = self.side, self._random(index)
        pixels, seen = drawn_ground(random, side), np.zeros((side, side), np.int64)
        shapes: list[DrawnShape] = []
        for _ in range(random.integers(1, _MOST_SHAPES + 1)):
            shape = self._shape(random)
            hidden = [(shape.mask & (seen == number)).sum() for number in range(1, len(shapes) + 1)]
            visible = [(seen == number).sum() for number in range(1, len(shapes) + 1)]
            least = [_LEAST * drawn.whole for drawn in shapes]
            if shape.mask.sum() < _LEAST * shape.whole or (np.subtract(visible, hidden) < least).any():
                continue  # it would hide another one
            shapes.append(shape)
            seen[shape.mask] = len(shapes)
            pixels[shape.mask] = shape.color
        objects = [_marked(shape, seen == number) for number, shape in enumerate(shapes, 1)]
        return self._picture(index, pixels, objects, random)

    def _shape(self, random: np.random.Generator) -> DrawnShape:
        """A shape somewhere."""
        side, kind = self.side, int(random.integers(len(self._kinds)))
        size, turn = random.uniform(*_RADII) * side, random.uniform(0, 2 * np.pi)
        x, y = random.uniform(_OUTSIDE * side, (1 - _OUTSIDE) * side, 2)
        margin = side // 2  # around the picture, in which all of the shape is
        covered = coverage(self._kinds[kind], (x + margin, y + margin), size, turn, (2 * side, 2 * side)) > 0.5
        mask = covered[margin : margin + side, margin : margin + side]
        return DrawnShape(kind + 1, mask, int(covered.sum()), _color(kind, len(self._kinds), random))


def _color(kind: int, kinds: int, random: np.random.Generator) -> NDArray[np.float64]:
    """A colour of a class: classes have their places on the circle of colours, at equal distances."""
    turn = 2 * np.pi * (kind + random.uniform(-_SPREAD, _SPREAD)) / kinds
    light = random.uniform(120, 150)
    return np.clip(light + 105 * np.cos(turn - np.arange(3) * 2 * np.pi / 3), 0, 255)


def _marked(shape: DrawnShape, visible: Mask) -> MarkedObject:
    return MarkedObject(
        shape.label,
        edges_of(visible),
        difficult=bool(visible.sum() < (1 - _HIDDEN) * shape.whole),
        truncated=bool(shape.mask.sum() < shape.whole),
        runs=RunLengths.of(visible),
        area=float(visible.sum()),
    )
