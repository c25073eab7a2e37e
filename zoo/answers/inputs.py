"""The images that a user names: files, folders, patterns, standard input, and data sets of all kinds."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from netdsl.data.sources.annotations.annotated_image import AnnotatedSet
from netdsl.data.sources.files import file_errors, read_bytes
from netdsl.data.sources.images import is_image_file
from netdsl.data.sources.open_source import find_source, has_kind_prefix
from netdsl.data.sources.source import NamedItems, Source
from netdsl.data.sources.source_name import Content
from netdsl.data.transforms.decode import Color, decode
from netdsl.errors import DataError
from netdsl.tables.table import BlobColumn
from zoo.answers.placement import Numbers

STANDARD_INPUT = "-"

_LARGEST = 1 << 28  # bytes of standard input
_FOLDERS = ("folder", "images")  # kinds of data sets whose files are images: all of them count, labels or not
_WILD = frozenset("*?[")


@dataclass(frozen=True)
class InputSettings:
    """What images are decoded to, the blob that they are for, and the columns of blobs in tables."""

    color: Color
    blob: str
    columns: Mapping[str, str]
    stdin: BinaryIO


class ImageFiles:
    """Image files by their paths, which need not be there: then that is what is wrong with the image."""

    def __init__(self, paths: Sequence[str], color: Color) -> None:
        self._paths, self._color = paths, color

    def __len__(self) -> int:
        return len(self._paths)

    def name(self, index: int) -> str:
        """The path of an image."""
        return self._paths[index]

    def fetch(self, index: int) -> tuple[str, bytes]:
        """The path and the bytes of a file."""
        return self._paths[index], read_bytes(self._paths[index])

    def item(self, fetched: tuple[str, bytes]) -> tuple[Numbers, ...]:
        """The image."""
        path, data = fetched
        return (decode(data, self._color, path),)

    def close(self) -> None:
        """Do nothing, since no file stays open."""


class StandardInput:
    """The bytes of one image, from standard input."""

    def __init__(self, stdin: BinaryIO, color: Color) -> None:
        self._stdin, self._color = stdin, color

    def __len__(self) -> int:
        return 1

    def name(self, index: int) -> str:
        """What stands for standard input in a command."""
        return STANDARD_INPUT

    @cached_property
    def _data(self) -> bytes:
        with file_errors("standard input"):
            data = self._stdin.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise DataError(f"standard input: is longer than {_LARGEST:,} bytes; name a file instead")
        if not data:
            raise DataError("standard input: is empty; it takes the bytes of one image")
        return data

    def fetch(self, index: int) -> bytes:
        """The bytes."""
        return self._data

    def item(self, fetched: bytes) -> tuple[Numbers, ...]:
        """The image."""
        return (decode(fetched, self._color, "standard input"),)

    def close(self) -> None:
        """Do nothing: whoever opened standard input closes it."""


class MarkedImages:
    """The images of a set in which objects are marked."""

    def __init__(self, marked: AnnotatedSet, color: Color) -> None:
        self._marked, self._color = marked, color

    def __len__(self) -> int:
        return len(self._marked)

    def name(self, index: int) -> str:
        """The name of an image in its set."""
        return self._marked.image(index).name

    def fetch(self, index: int) -> tuple[str, bytes]:
        """Where an image is, and its bytes."""
        image = self._marked.image(index)
        return str(image.path), image.read()

    def item(self, fetched: tuple[str, bytes]) -> tuple[Numbers, ...]:
        """The image."""
        where, data = fetched
        return (decode(data, self._color, where),)

    def close(self) -> None:
        """Do nothing, since no file stays open."""


def open_images(name: str, settings: InputSettings) -> Source:
    """The images of a file, a folder with all below it, a pattern such as 'photos/*.jpg', a data set, or '-'."""
    path = Path(name)
    if name == STANDARD_INPUT:
        return StandardInput(settings.stdin, settings.color)
    is_pattern = bool(_WILD.intersection(name)) and not path.exists()
    is_image = path.is_file() and is_image_file(path)
    source = None if is_image else find_source(name, Content.MARKED_IMAGES if is_pattern else None)
    if source is not None and source.content is Content.MARKED_IMAGES:
        return MarkedImages(source.open_marked(), settings.color)
    if source is not None and (has_kind_prefix(name) or source.kind not in _FOLDERS):
        column = settings.columns.get(settings.blob, settings.blob)
        return source.open(color=settings.color, blobs=[BlobColumn(settings.blob, column, color=settings.color)])
    if path.is_dir():
        return ImageFiles(_not_empty(_below(path), name, "has no images, here or in folders below"), settings.color)
    if is_pattern:
        return ImageFiles(_not_empty(_matching(path), name, "no file has such a name"), settings.color)
    return ImageFiles([name], settings.color)


def image_name(source: Source, index: int, name: str) -> str:
    """The name of an image of a source that a user calls `name`."""
    own = source.name(index) if isinstance(source, NamedItems) else ""
    if isinstance(source, (ImageFiles, StandardInput)):
        return own
    return f"{name}:{own or index}"


def _below(folder: Path) -> list[str]:
    """The images in a folder and below it, in order; hidden files and folders are left out."""
    found = []
    for path, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        visible = (each for each in sorted(names) if not each.startswith("."))
        found += [str(Path(path, each)) for each in visible if is_image_file(Path(each))]
    return found


def _matching(pattern: Path) -> list[str]:
    try:
        paths = sorted(Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))))
    except ValueError as problem:
        raise DataError(f"{pattern}: is no pattern of paths: {problem}") from None
    return [str(path) for path in paths if path.is_file()]


def _not_empty(files: list[str], name: str, problem: str) -> list[str]:
    if not files:
        raise DataError(f"{name}: {problem}")
    return files


def image_of(item: tuple[Any, ...]) -> Numbers:
    """The image of a source's item, which may have a label and more behind it."""
    image: Numbers = item[0]
    return image
