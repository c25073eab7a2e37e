"""Images in folders that are named after their classes."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from netdsl.data.sources.images import ImageFile
from netdsl.data.sources.listing import numbered_lines, read_bytes
from netdsl.data.sources.source import Item
from netdsl.data.transforms.decode import Color, decode
from netdsl.errors import DataError

NAMES = "labels.txt"
_ENDINGS = {".jpg", ".jpeg", ".png", ".bmp", ".ppm", ".pgm", ".tif", ".tiff", ".webp"}


class FolderSource:
    """All images below the folders of a folder, class by class.

    A class's label is its place among all classes, by name; or its line, from 0, in `labels.txt`, if that is there.
    """

    def __init__(self, path: str | Path, color: Color = Color.COLOR) -> None:
        self._path, self._color = Path(path), color
        self.classes = _classes(self._path)
        self._names = [(name, label) for label, each in enumerate(self.classes) for name in _images(self._path, each)]
        if not self._names:
            raise DataError(f"{path}: has no images in folders named after their classes")

    def __len__(self) -> int:
        return len(self._names)

    def name(self, index: int) -> str:
        """The path of an image from the folder on."""
        return self._names[index][0]

    def fetch(self, index: int) -> ImageFile:
        """The bytes of one file."""
        name, label = self._names[index]
        path = str(self._path / name)
        return ImageFile(path, label, read_bytes(path))

    def item(self, fetched: ImageFile) -> Item:
        """The image and its label."""
        return decode(fetched.data, self._color, fetched.path), np.array(fetched.label, np.float32)

    def close(self) -> None:
        """No file stays open."""


def class_folders(path: Path) -> list[str]:
    """The names of the folders in a folder, but for hidden ones."""
    return sorted(each.name for each in path.iterdir() if each.is_dir() and not each.name.startswith("."))


def _classes(path: Path) -> list[str]:
    if not path.is_dir():
        raise DataError(f"{path}: there is no such folder; folders of images should be in it")
    found = class_folders(path)
    if not (path / NAMES).exists():
        return found
    listed = [line.strip() for _, line in numbered_lines(path / NAMES)]
    for name in found:
        if listed.count(name) != 1:
            raise DataError(
                f"{path / NAMES}: has {listed.count(name)} lines '{name}', the name of a folder; one is due"
            )
    return listed


def _images(path: Path, name: str) -> list[str]:
    """The images of one class, also in folders below."""
    found = [Path(folder, file) for folder, _, files in os.walk(path / name) for file in files]
    return sorted(file.relative_to(path).as_posix() for file in found if file.suffix.lower() in _ENDINGS)
