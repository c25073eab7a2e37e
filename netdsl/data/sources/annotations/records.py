"""Reads SSD's databases as sets of images with objects, and all such sets as items like those of SSD's databases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path, PurePosixPath
from warnings import catch_warnings

import numpy as np
from numpy.typing import NDArray

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, AnnotatedSet, Edges, MarkedObject
from netdsl.data.sources.annotations.masks import class_map
from netdsl.data.sources.annotations.set_files import checked_edges, encoded_size
from netdsl.data.sources.class_names import BACKGROUND, class_list
from netdsl.data.sources.datum import AnnotatedDatumSource, DatumRecord, DatumSource, box_rows, raw_image
from netdsl.data.sources.leveldb import LevelDbSource
from netdsl.data.sources.lmdb import LMDB_FILE, LmdbSource
from netdsl.data.sources.source import Item
from netdsl.data.transforms.boxes import COLUMNS
from netdsl.data.transforms.decode import Color, decode_pixels, opencv
from netdsl.data.types import Array
from netdsl.errors import DataError

_DIGITS = 8  # of a key, before the name
_DECIMALS = 3  # of a pixel, as precise as float32's shares of an image's size
_MOST_CLASSES = 1 << 16  # in a database without names of classes


class AnnotatedRecords:
    """The records of an LMDB or a LevelDB.

    Records don't state whether the pixels of their boxes are counted from 0 or 1. In databases from Pascal VOC,
    `first_pixel` is 1, because SSD's own converter only divides the numbers by the size. The classes come from a given
    file, or from a file in the folder. Otherwise they are named by their numbers, and all records are searched for the
    largest one.
    """

    def __init__(self, path: str | Path, *, first_pixel: int = 0, classes: str | Path | None = None) -> None:
        self._records = open_records(Path(path))
        self._source = AnnotatedDatumSource(self._records)
        self.first_pixel = first_pixel
        known = class_list(classes, Path(path))
        self.classes = known.names if known else (BACKGROUND, *map(str, range(1, self._largest_label() + 1)))

    def __len__(self) -> int:
        return len(self._records)

    def image(self, index: int) -> AnnotatedImage:
        """Return one image with its objects."""
        fetched = self._records.fetch(index)
        where, annotated = self._records.where(fetched), self._source.record(fetched)
        data = _encoded(annotated.datum, where)
        height, width = encoded_size(data, where)
        objects = []
        for label, _, left, top, right, bottom, difficult in box_rows(annotated, where).tolist():
            if not 0 < label < len(self.classes):
                raise DataError(
                    f"{where}: the record has an object of class {label:g}, but classes are numbered 1 to "
                    f"{len(self.classes) - 1}; add the missing classes to the file of classes, as in "
                    "?classes=FILE"
                )
            edges = np.array([left * width, top * height, right * width, bottom * height]).round(_DECIMALS)
            edges[:2] -= self.first_pixel
            objects.append(MarkedObject(int(label), checked_edges(Edges(*edges.tolist()), where), bool(difficult)))
        name = _image_name(fetched, index)
        return AnnotatedImage(name, self._records.path / name, height, width, tuple(objects), encoded=data)

    def _largest_label(self) -> int:
        """Return the largest label in all readable records. The others raise errors when they are read."""
        largest = 0
        for index in range(len(self)):
            with suppress(DataError):
                groups = self._source.record(self._records.fetch(index)).annotation_group
                largest = max(largest, *(group.group_label for group in groups), 0)
        return min(largest, _MOST_CLASSES)


def open_records(path: Path) -> DatumSource:
    """Return the records of an LMDB or a LevelDB."""
    return LmdbSource(path) if (path / LMDB_FILE).exists() or not (path / "CURRENT").exists() else LevelDbSource(path)


def has_annotated_records(path: Path) -> bool:
    """Return whether the path is a database whose first record is an AnnotatedDatum with boxes."""
    return first_record_shows(path, _are_annotated)


def _are_annotated(records: DatumSource) -> bool:
    source = AnnotatedDatumSource(records)
    source.record(records.fetch(0))
    return source.annotated


def first_record_shows(path: Path, test: Callable[[DatumSource], bool]) -> bool:
    """Return whether the path is a database whose records pass a test.

    Returns false if the database or its first record can't be read.
    """
    if not any((path / name).is_file() for name in (LMDB_FILE, "CURRENT")):
        return False
    try:
        with catch_warnings(action="ignore"):
            records = open_records(path)
    except DataError:
        return False  # opening it later raises the error
    try:
        return test(records)
    except DataError:
        return False
    finally:
        records.close()


def _image_name(record: DatumRecord, index: int) -> str:
    """Return the name in a key such as 00000000_VOC2007/JPEGImages/000001.jpg, without the file's suffix."""
    text = record.key.decode("utf-8", "replace")
    digits, _, name = text.partition("_")
    parts = (
        PurePosixPath(name if digits.isdecimal() and len(digits) == _DIGITS and name else text).with_suffix("").parts
    )
    name = "/".join(part for part in parts if part not in ("/", "..", "."))
    return name or f"{index:0{_DIGITS}}"


def _encoded(datum: pb.Datum, where: str) -> bytes:
    """Return the encoded image of a record. Raw pixels are encoded."""
    if datum.encoded:
        return datum.data
    pixels = raw_image(datum, where)
    if pixels.dtype != np.uint8 or len(pixels) not in (1, 3, 4):
        raise DataError(
            f"{where}: its values aren't an image of bytes with 1, 3 or 4 channels; write the records with `zoo "
            "data convert --encoded png`, or name a database of images"
        )
    return bytes(opencv().imencode(".png", np.ascontiguousarray(pixels.transpose(1, 2, 0)))[1])


def normalized_edges(marked: MarkedObject, image: AnnotatedImage, first_pixel: int) -> NDArray[np.float32]:
    """Return an object's box as shares of its image's size.

    As in SSD's own converter, the numbers in the set's files are divided by the size, whether they count from 0 or 1.
    So a box of Pascal VOC begins at the far edge of its first pixel.
    """
    left, top, right, bottom = marked.edges
    corners = np.array([left + first_pixel, top + first_pixel, right, bottom], np.float32)
    return np.asarray(corners / np.array([image.width, image.height] * 2, np.float32), np.float32)


class MarkedItems:
    """The images of a set, with a row for each of their objects and, with `maps`, a class for each pixel.

    The rows are the same as in a database that was converted from the set.
    """

    annotated = True

    def __init__(self, marked: AnnotatedSet, color: Color, *, maps: bool = False) -> None:
        self._marked, self._color, self._maps = marked, color, maps
        self.classes = tuple(marked.classes)

    def __len__(self) -> int:
        return len(self._marked)

    def fetch(self, index: int) -> tuple[AnnotatedImage, bytes]:
        """Return an image with its objects, and its encoded bytes."""
        image = self._marked.image(index)
        return image, image.read()

    def item(self, fetched: tuple[AnnotatedImage, bytes]) -> Item:
        """Return the image, its rows and, if they are used, its class map."""
        image, data = fetched
        pixels = decode_pixels(data, self._color, str(image.path)).transpose(2, 0, 1)
        return pixels, self._rows(image), *self._map(image)

    def _rows(self, image: AnnotatedImage) -> Array:
        numbers, rows = Counter[int](), []
        for marked in image.objects:
            box = normalized_edges(marked, image, self._marked.first_pixel)
            rows.append((marked.label, numbers[marked.label], *box, marked.difficult or marked.crowd))
            numbers[marked.label] += 1
        return np.array(rows, np.float32).reshape(-1, COLUMNS)

    def _map(self, image: AnnotatedImage) -> tuple[Array, ...]:
        if not self._maps:
            return ()
        pixels = class_map(image)
        if pixels is None:
            raise DataError(
                f"{image.path}: only boxes are known, but the layer's third top needs a class for each pixel; "
                "remove that top, or read a set with masks, such as coco:FILE.json"
            )
        return (pixels[None],)

    def close(self) -> None:
        """Do nothing, because sets keep no files open that need closing."""
