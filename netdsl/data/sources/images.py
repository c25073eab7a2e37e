"""Image files with labels, from a list, or from a folder with a folder for each class."""

from __future__ import annotations

import os
import warnings
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from caffe_proto.errors import few
from caffe_proto.whole_numbers import INT32, whole_number
from netdsl.data.sources.class_names import LABELS, class_names_in
from netdsl.data.sources.files import listed_lines, numbered_lines, read_bytes
from netdsl.data.sources.source import Item
from netdsl.data.transforms.decode import Color, decode, resize
from netdsl.data.types import Array
from netdsl.errors import DataError, DataWarning

IMAGE_ENDINGS = {".jpg", ".jpeg", ".png", ".bmp", ".ppm", ".pgm", ".tif", ".tiff", ".webp"}
# Usual names of a data set's parts.
_TRAIN, _TEST = (("train", "training"), ("val", "valid", "validation", "test", "testing"))
_SHOWN = 5  # classes that a message lists


class ImageFile(NamedTuple):
    """An encoded image, its path and its label."""

    path: str
    label: int
    data: bytes


class ImageSource:
    """The images of a list whose lines contain a path and a label. An item is an image and its label.

    As in Caffe, `root_folder` is prepended to a path without a slash, and the label follows the line's last space.
    Images keep their sizes unless a new size is set.
    """

    def __init__(
        self, path: str | Path, *, root_folder: str = "", new_height: int = 0, new_width: int = 0, color: bool = True
    ) -> None:
        if bool(new_height) != bool(new_width):
            raise DataError("only one of new_height and new_width is given; give both or neither")
        self._size = (new_height, new_width)
        self._color = Color.COLOR if color else Color.GRAY
        self._folder, self._name, self._root_folder = Path(path).parent, Path(path).name, root_folder
        self._lines = [_path_and_label(path, number, line) for number, line in listed_lines(path)]

    def __len__(self) -> int:
        return len(self._lines)

    def fetch(self, index: int) -> ImageFile:
        """Return the bytes of one file."""
        name, label = self._lines[index]
        path = self._root_folder + name
        return ImageFile(path, label, read_bytes(path))

    def item(self, fetched: ImageFile) -> Item:
        """Return the image and its label."""
        image = decode(fetched.data, self._color, fetched.path)
        if any(self._size):
            image = resize(image, *self._size)
        return image, np.array(fetched.label, np.float32)

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes. The sequence is empty if the list's folder doesn't state them, as when the list
        itself has the name of the file that would."""
        return () if self._name == LABELS else class_names_in(self._folder)

    def labels(self) -> Array:
        """Return the labels of all images."""
        return np.array([label for _, label in self._lines])

    def name(self, index: int) -> str:
        """Return the path of an image as the list states it."""
        return self._lines[index][0]

    def close(self) -> None:
        """Do nothing, because no file stays open."""


def _path_and_label(path: str | Path, number: int, line: str) -> tuple[str, int]:
    name, _, text = line.rpartition(" ")
    label = whole_number(text.strip(), *INT32)
    if label is None:
        raise DataError(f"{path}:{number}: '{text[:40]}' isn't a label; write the line as 'path label'")
    return name, label


class FolderSource:
    """The images in the folders of a folder, class by class.

    If the folder contains a `labels.txt`, the number of a class is its line, counted from 0. Otherwise it is the
    class's place among the sorted names. Images can be in nested folders. If no class has images directly in its
    folder, the folders are probably parts of a data set. That is an error, unless `labels.txt` names them.
    """

    def __init__(self, path: str | Path, color: Color = Color.COLOR) -> None:
        self._path, self._color = Path(path), color
        self.classes = _classes(self._path)
        folders = set(class_folders(self._path))  # a class can be without a folder, and its name can be any text
        labels = [(label, name) for label, name in enumerate(self.classes) if name in folders]
        self._names = [(name, label) for label, folder in labels for name in _images(self._path, folder)]
        if not self._names:
            raise DataError(
                f"{path}: the folder has no images in folders named after their classes; put the images of each "
                "class into a folder with the name of the class"
            )
        if not (self._path / LABELS).exists():
            _check_depth(self._path, self.classes)

    def __len__(self) -> int:
        return len(self._names)

    def name(self, index: int) -> str:
        """Return the path of an image within the folder."""
        return self._names[index][0]

    def labels(self) -> Array:
        """Return the labels of all images."""
        return np.array([label for _, label in self._names])

    def fetch(self, index: int) -> ImageFile:
        """Return the bytes of one file."""
        name, label = self._names[index]
        path = str(self._path / name)
        return ImageFile(path, label, read_bytes(path))

    def item(self, fetched: ImageFile) -> Item:
        """Return the image and its label."""
        return decode(fetched.data, self._color, fetched.path), np.array(fetched.label, np.float32)

    def close(self) -> None:
        """Do nothing, because no file stays open."""


def class_folders(path: Path) -> list[str]:
    """Return the sorted names of the folders in a folder, except hidden ones."""
    return sorted(entry.name for entry in path.iterdir() if entry.is_dir() and not entry.name.startswith("."))


def _classes(path: Path) -> list[str]:
    if not path.is_dir():
        raise DataError(f"{path}: there is no such folder; name one that contains a folder of images for each class")
    folders, file = class_folders(path), path / LABELS
    if not file.exists():
        return folders
    classes = [line.strip() for _, line in numbered_lines(file)]
    for name in folders:
        if classes.count(name) != 1:
            raise DataError(
                f"{file}: the file has {classes.count(name)} lines '{name}'; write one line for each folder"
            )
    return classes


def _images(path: Path, name: str) -> list[str]:
    """Return the images of one class, including those in nested folders."""
    files = [Path(folder, file) for folder, _, names in os.walk(path / name) for file in names]
    return sorted(file.relative_to(path).as_posix() for file in files if is_image_file(file))


def is_image_file(file: Path) -> bool:
    """Return whether a file's suffix is that of an image."""
    return file.suffix.lower() in IMAGE_ENDINGS


def _check_depth(path: Path, classes: list[str]) -> None:
    """Raise a `DataError` if all classes contain folders in place of images, and warn if some do."""
    deeper = [name for name in classes if _has_only_folders(path / name)]
    if not deeper:
        return
    if deeper != classes:
        warnings.warn(
            f"{path}: the classes {few(deeper, _SHOWN)} contain folders and no images; the images in these "
            "folders belong to the class",
            DataWarning,
            stacklevel=3,
        )
        return
    train, tests = (next((name for name in classes if name.lower() in names), None) for names in (_TRAIN, _TEST))
    train = train or classes[0]
    more = f", and to test on --test-data folder:{path / tests}" if tests else ""
    raise DataError(
        f"{path}: its folders {few(classes, _SHOWN)} contain folders and no images, so they may not be the "
        f"classes; name the folder above the classes, folder:{path / train}{more}, or write the names of the "
        f"classes into {path / LABELS}"
    )


def _has_only_folders(path: Path) -> bool:
    """Return whether a folder contains folders, and no image."""
    entries = list(path.iterdir())
    return bool(class_folders(path)) and not any(is_image_file(entry) for entry in entries)
