"""Image files with labels, which a list names."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from netdsl.data.sources.class_names import class_names_in
from netdsl.data.sources.listing import listed_lines, read_bytes
from netdsl.data.sources.source import Item
from netdsl.data.transforms.decode import Color, decode, resize
from netdsl.data.types import Array
from netdsl.errors import DataError


class ImageFile(NamedTuple):
    """An encoded image, its path and its label."""

    path: str
    label: int
    data: bytes


class ImageSource:
    """The images of a list with lines of a path and a label; an item is an image and its label.

    As in Caffe `root_folder` is prepended to a path as it is, so it ends with a slash, and a line's label stands after
    its last space. Images keep their sizes unless there is a new one.
    """

    def __init__(
        self, path: str | Path, *, root_folder: str = "", new_height: int = 0, new_width: int = 0, color: bool = True
    ) -> None:
        if bool(new_height) != bool(new_width):
            raise DataError("new_height and new_width go together: give both or neither")
        self._size = (new_height, new_width)
        self._color = Color.COLOR if color else Color.GRAY
        self._folder, self._root_folder = Path(path).parent, root_folder
        self._lines = [_split(path, number, line) for number, line in listed_lines(path)]

    def __len__(self) -> int:
        return len(self._lines)

    def fetch(self, index: int) -> ImageFile:
        """The bytes of one file."""
        name, label = self._lines[index]
        path = self._root_folder + name
        return ImageFile(path, label, read_bytes(path))

    def item(self, fetched: ImageFile) -> Item:
        """The image and its label."""
        image = decode(fetched.data, self._color, fetched.path)
        if any(self._size):
            image = resize(image, *self._size)
        return image, np.array(fetched.label, np.float32)

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, if the list's folder has them."""
        return class_names_in(self._folder)

    def labels(self) -> Array:
        """The labels of all images."""
        return np.array([label for _, label in self._lines])

    def name(self, index: int) -> str:
        """The path of an image as it is in the list."""
        return self._lines[index][0]

    def close(self) -> None:
        """Do nothing, since no file stays open."""


def _split(path: str | Path, number: int, line: str) -> tuple[str, int]:
    name, _, label = line.rpartition(" ")
    try:
        return name, int(label)
    except ValueError:
        raise DataError(f"{path}:{number}: '{label[:40]}' is not a label; a line is 'path label'") from None
