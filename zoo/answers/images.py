"""The input images of a model: opened by name, and prepared for its net."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.annotations.annotated_image import AnnotatedSet
from netdsl.data.sources.files import file_errors, read_bytes
from netdsl.data.sources.images import is_image_file
from netdsl.data.sources.open_source import find_source, has_kind_prefix
from netdsl.data.sources.source import NamedItems, Source
from netdsl.data.sources.source_name import Content
from netdsl.data.tables.table import BlobColumn
from netdsl.data.transforms.decode import Color, decode, in_color
from netdsl.data.transforms.image_settings import crop_of, describe, resize_of
from netdsl.data.transforms.resizing import ImageResizing, ShortSide
from netdsl.data.transforms.transform import Transform
from netdsl.errors import DataError
from zoo.answers.answer import ImageSize, Numbers, Placement
from zoo.cards import Channels

_STANDARD_INPUT = "-"

_LARGEST_INPUT = 1 << 28  # bytes of standard input
# Kinds of data sets that are folders of images, where every image counts, with or without a label.
_FOLDERS = ("folder", "images")
_WILD = frozenset("*?[")

_EVEN = 1e-6  # standard deviation of an image whose values are all the same
_SEED = 0  # chosen for the interpolation if `resize_param` contains several


class ImageFiles:
    """Image files by path. A missing file becomes the problem of its image."""

    def __init__(self, paths: Sequence[str], color: Color) -> None:
        self._paths, self._color = paths, color

    def __len__(self) -> int:
        return len(self._paths)

    def name(self, index: int) -> str:
        """Return the path of an image."""
        return self._paths[index]

    def fetch(self, index: int) -> tuple[str, bytes]:
        """Return the path and the bytes of a file."""
        return self._paths[index], read_bytes(self._paths[index])

    def item(self, fetched: tuple[str, bytes]) -> tuple[Numbers, ...]:
        """Return the image."""
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
        """Return the word that stands for standard input in a command."""
        return _STANDARD_INPUT

    @cached_property
    def _image_bytes(self) -> bytes:
        with file_errors("standard input"):
            data = self._stdin.read(_LARGEST_INPUT + 1)
        if len(data) > _LARGEST_INPUT:
            raise DataError(f"standard input: longer than {_LARGEST_INPUT:,} bytes; name a file instead")
        if not data:
            raise DataError("standard input: no data; send the bytes of one image")
        return data

    def fetch(self, index: int) -> bytes:
        """Return the bytes of the image."""
        return self._image_bytes

    def item(self, fetched: bytes) -> tuple[Numbers, ...]:
        """Return the image."""
        return (decode(fetched, self._color, "standard input"),)

    def close(self) -> None:
        """Do nothing, since standard input stays open."""


class MarkedImages:
    """The images of a set with marked objects."""

    def __init__(self, marked: AnnotatedSet, color: Color) -> None:
        self._marked, self._color = marked, color

    def __len__(self) -> int:
        return len(self._marked)

    def name(self, index: int) -> str:
        """Return the name of an image in its set."""
        return self._marked.image(index).name

    def fetch(self, index: int) -> tuple[str, bytes]:
        """Return an image's path and bytes."""
        image = self._marked.image(index)
        return str(image.path), image.read()

    def item(self, fetched: tuple[str, bytes]) -> tuple[Numbers, ...]:
        """Return the image."""
        where, data = fetched
        return (decode(data, self._color, where),)

    def close(self) -> None:
        """Do nothing, since no file stays open."""


def open_images(name: str, blob: BlobColumn, stdin: BinaryIO) -> Source:
    """Return the images with this name: a file, a folder with everything below it, a pattern such as 'photos/*.jpg', a
    data set, or '-'.

    They are decoded for the blob. The blob names the column of a table.
    """
    path = Path(name)
    if name == _STANDARD_INPUT:
        return StandardInput(stdin, blob.color)
    is_pattern = bool(_WILD.intersection(name)) and not path.exists()
    is_image = path.is_file() and is_image_file(path)
    source = None if is_image else find_source(name, Content.MARKED_IMAGES if is_pattern else None)
    if source is not None and source.content is Content.MARKED_IMAGES:
        return MarkedImages(source.open_marked(), blob.color)
    if source is not None and (has_kind_prefix(name) or source.kind not in _FOLDERS):
        return source.open(color=blob.color, blobs=[blob])
    if path.is_dir():
        return ImageFiles(
            _not_empty(
                _images_below(path),
                name,
                "there are no images in this folder or below it; name a folder that contains images, such as "
                ".jpg or .png",
            ),
            blob.color,
        )
    if is_pattern:
        return ImageFiles(
            _not_empty(
                _files_matching(path),
                name,
                "no file matches the pattern; list the files with `ls`, and write the pattern in quotation marks, "
                "as in 'photos/**/*.jpg'",
            ),
            blob.color,
        )
    return ImageFiles([name], blob.color)


def image_name(source: Source, index: int, name: str) -> str:
    """Return the name of an image, from a source that the user calls `name`."""
    own = source.name(index) if isinstance(source, NamedItems) else ""
    if isinstance(source, (ImageFiles, StandardInput)):
        return own
    return f"{name}:{own or index}"


def _images_below(folder: Path) -> list[str]:
    """Return the images in a folder and below it, in order. Hidden files and folders are left out."""
    found = []
    for path, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        visible = (each for each in sorted(names) if not each.startswith("."))
        found += [str(Path(path, each)) for each in visible if is_image_file(Path(each))]
    return found


def _files_matching(pattern: Path) -> list[str]:
    try:
        paths = sorted(Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))))
    except ValueError as problem:
        raise DataError(f"{pattern}: not a pattern of paths: {problem}; write it as in 'photos/**/*.jpg'") from None
    return [str(path) for path in paths if path.is_file()]


def _not_empty(files: list[str], name: str, problem: str) -> list[str]:
    if not files:
        raise DataError(f"{name}: {problem}")
    return files


def image_of(item: tuple[Any, ...]) -> Numbers:
    """Return the image in a source's item. A label and other values may follow it."""
    image: Numbers = item[0]
    return image


@dataclass(frozen=True)
class PreparedImage:
    """A net's input for an image, the image's placement in it, and the image itself if it is kept for drawing."""

    values: Numbers
    placement: Placement
    image: Numbers | None = None


class Preparation(ABC):
    """A preparation of images, whose channels are put into the net's order. `size` is the usual image size."""

    size: ImageSize

    def __init__(self, channels: Channels) -> None:
        self.channels = channels

    @property
    def color(self) -> Color:
        """The colors to decode image files to."""
        return Color.GRAY if self.channels is Channels.GRAY else Color.COLOR

    def __call__(self, image: Numbers, where: str, *, keep: bool = False) -> PreparedImage:
        """Return the input for an image of channels, height, width, with the channels blue, green, red. With `keep`,
        the image is kept for drawing."""
        try:
            pixels = in_color(image, self.color)
            if self.channels is Channels.RGB:
                pixels = pixels[::-1]
            if self.channels is Channels.LIGHTNESS:
                pixels = _lightness(pixels)
            values, placement = self._prepared_pixels(pixels)
        except DataError as problem:
            raise DataError(f"{where}: {problem}") from None
        return PreparedImage(values, placement, image if keep else None)

    def __str__(self) -> str:
        return f"{self.channels.value} with values from 0 to 255, {self._described_changes()}"

    @abstractmethod
    def _prepared_pixels(self, pixels: Numbers) -> tuple[Numbers, Placement]:
        """Return the input for pixels, and the placement of the image in it."""

    @abstractmethod
    def _described_changes(self) -> str:
        """Return a description of the changes to values and sizes."""


def _lightness(pixels: Numbers) -> Numbers:
    """Return L of CIE Lab for an image with the channels blue, green, red. White is 255."""
    import cv2

    if pixels.dtype != np.uint8:
        raise DataError(
            "the card's input is the lightness of pixels, but the values of the image aren't bytes; name image "
            "files, such as .jpg or .png"
        )
    lab = cv2.cvtColor(np.ascontiguousarray(pixels.transpose(1, 2, 0)), cv2.COLOR_BGR2Lab)
    return np.asarray(lab[None, ..., 0])


class LayerPreparation(Preparation):
    """A preparation of images with the settings of a data layer, which resize or crop them.

    The settings are for images with the net's channel order. With `standardized`, the mean of all values of an image is
    then subtracted, and their standard deviation divides them.
    """

    def __init__(self, settings: pb.TransformationParameter, channels: Channels, *, standardized: bool = False) -> None:
        super().__init__(channels)
        self._standardized = standardized
        self._settings = settings
        self._transform = Transform(settings, train=False)
        self._resizing = ImageResizing(settings.resize_param[0]) if settings.resize_param else None
        resized = resize_of(settings)
        size = crop_of(settings) or resized
        assert size is not None
        self.size = ImageSize(*size)
        if resized is not None:
            self._transform.shape(1, *resized)  # raises an error if the crop is larger

    def _prepared_pixels(self, pixels: Numbers) -> tuple[Numbers, Placement]:
        own = ImageSize(*pixels.shape[1:])
        resized = ImageSize(*self._resizing.size_without_borders(*own)) if self._resizing else own
        placement = Placement(own, resized, self.size)
        values = self._transform(pixels, np.random.default_rng(_SEED))
        return standardized_values(values) if self._standardized else values, placement

    def _described_changes(self) -> str:
        standardized = ", minus their own mean, divided by their own standard deviation" if self._standardized else ""
        return describe(self._settings) + standardized


def standardized_values(values: Numbers) -> Numbers:
    """Return an image's values minus their mean, divided by their standard deviation. An even image becomes zero."""
    centered = values - values.mean(dtype=np.float64)
    standardized: Numbers = (centered / max(centered.std(), _EVEN)).astype(np.float32)
    return standardized


class ShortSidePreparation(Preparation):
    """A preparation of images that keep their proportions. The shorter side gets a fixed length."""

    def __init__(self, sizing: ShortSide, channels: Channels) -> None:
        super().__init__(channels)
        self._sizing = sizing
        self.size = ImageSize(round(sizing.length), round(sizing.longest))

    def _prepared_pixels(self, pixels: Numbers) -> tuple[Numbers, Placement]:
        values, scale = self._sizing(pixels)
        size = ImageSize(*values.shape[1:])
        return values, Placement(ImageSize(*pixels.shape[1:]), size, size, scale)

    def _described_changes(self) -> str:
        return str(self._sizing)
