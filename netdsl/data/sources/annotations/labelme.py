"""Reads labelme's folders, which contain a JSON file with polygons and rectangles for each image."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, MarkedObject, Outline
from netdsl.data.sources.annotations.set_files import (
    bounds,
    checked_edges,
    checked_size,
    image_size,
    path_inside,
    read_json,
)
from netdsl.data.sources.class_names import ClassList, class_list
from netdsl.errors import DataError

_LARGEST = 1 << 28  # bytes of a file, which can contain its image as text
_POINTS = {"polygon": 3, "rectangle": 2}  # points of a shape, at least


class LabelmeShape(msgspec.Struct, frozen=True):
    """A shape of a file."""

    label: str
    points: list[tuple[float, float]]
    shape_type: str = "polygon"
    group_id: int | None = None


class LabelmeFile(msgspec.Struct, frozen=True, rename="camel"):
    """The parts of a file that describe objects."""

    shapes: list[LabelmeShape]
    image_path: str
    image_height: int | None = None
    image_width: int | None = None


class LabelmeFolder:
    """The images in a folder that have a JSON file.

    Shapes with the same label and group are parts of one object. The classes come from a given file, or from a file in
    the folder. Otherwise they are the labels of all shapes, sorted by name.
    """

    first_pixel = 0

    def __init__(self, path: str | Path, *, classes: str | Path | None = None) -> None:
        self._path = Path(path)
        self._files = sorted(self._path.glob("*.json"))
        if not self._files:
            raise DataError(
                f"{path}: the folder has no .json files from labelme; name the folder in which labelme saved them"
            )
        self._classes = class_list(classes, self._path) or self._found_classes()
        self.classes = self._classes.names

    def __len__(self) -> int:
        return len(self._files)

    def image(self, index: int) -> AnnotatedImage:
        """Return one image with its objects."""
        path, file = self._files[index], self._read(index)
        image = path_inside(path.parent, file.image_path, str(path))
        if file.image_height is None or file.image_width is None:
            size = image_size(image)
        else:
            size = checked_size(file.image_height, file.image_width, str(path))
        groups: dict[object, list[int]] = {}
        for place, shape in enumerate(file.shapes):
            key = place if shape.group_id is None else (shape.label, shape.group_id)
            groups.setdefault(key, []).append(place)
        objects = tuple(self._object(path, file.shapes, places) for places in groups.values())
        return AnnotatedImage(path.stem, image, *size, objects)

    def _read(self, index: int) -> LabelmeFile:
        return read_json(self._files[index], LabelmeFile, _LARGEST)

    def _found_classes(self) -> ClassList:
        """Return the classes of all readable files. The others raise errors when they are read."""
        found: set[str] = set()
        for index in range(len(self)):
            with suppress(DataError):
                found |= {shape.label for shape in self._read(index).shapes}
        return ClassList.of(sorted(found), str(self._path))

    def _object(self, path: Path, shapes: Sequence[LabelmeShape], places: Sequence[int]) -> MarkedObject:
        """Return an object that consists of one or more shapes."""
        for place in places:
            _check_shape(shapes[place], f"{path}: shapes[{place}]")
        where, parts = f"{path}: shapes[{places[0]}]", [shapes[place] for place in places]
        edges = bounds([point for shape in parts for point in shape.points])
        outlines = tuple(_outline(shape) for shape in parts)
        if all(shape.shape_type == "rectangle" for shape in parts):
            outlines = ()  # a rectangle only bounds the object
        return MarkedObject(self._classes.label(parts[0].label, where), checked_edges(edges, where), outlines=outlines)


def _outline(shape: LabelmeShape) -> Outline:
    if shape.shape_type == "polygon":
        return tuple(shape.points)
    left, top, right, bottom = bounds(shape.points)
    return (left, top), (right, top), (right, bottom), (left, bottom)


def _check_shape(shape: LabelmeShape, where: str) -> None:
    if shape.shape_type not in _POINTS:
        raise DataError(
            f"{where}: the shape is a '{shape.shape_type[:40]}', but objects must be polygons or rectangles; "
            "draw it as a polygon in labelme, or remove it"
        )
    if len(shape.points) < _POINTS[shape.shape_type]:
        raise DataError(
            f"{where}: the {shape.shape_type} has only {len(shape.points)} points; draw it again in labelme, or "
            "remove it"
        )
