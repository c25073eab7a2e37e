"""Images with marked objects, the same for every data set that they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol


class Edges(NamedTuple):
    """The edges of a box in pixels from the image's corner: the box of the pixel in that corner is 0, 0, 1, 1."""

    left: float
    top: float
    right: float
    bottom: float


Outline = tuple[tuple[float, float], ...]  # the corners of a polygon, as x and y in pixels


@dataclass(frozen=True)
class MarkedObject:
    """An object in an image. `label` is the place of its class among the set's classes, of which 0 is the background.

    A difficult one doesn't count when detections are scored; a crowd is many objects in one box. `outlines` are
    polygons around it, if the data set has any.
    """

    label: int
    edges: Edges
    difficult: bool = False
    crowd: bool = False
    outlines: tuple[Outline, ...] = ()


@dataclass(frozen=True)
class AnnotatedImage:
    """An image's file, its size and its objects."""

    name: str
    path: Path
    height: int
    width: int
    objects: tuple[MarkedObject, ...]


class AnnotatedSet(Protocol):
    """A data set of images with objects. `classes` begins with the background."""

    classes: Sequence[str]
    first_pixel: int  # the coordinate of the first pixel in the set's own files: 1 in Pascal VOC, 0 in others

    def __len__(self) -> int:
        """How many images there are."""
        ...

    def image(self, index: int) -> AnnotatedImage:
        """One image with its objects."""
        ...
