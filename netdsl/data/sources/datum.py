"""Databases of Caffe's Datum records, which hold an image and a label."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from google.protobuf.message import DecodeError

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.class_names import class_names_in
from netdsl.data.sources.source import Item
from netdsl.data.transforms.decode import Color, decode
from netdsl.data.types import Array
from netdsl.errors import DataError


class DatumRecord(NamedTuple):
    """One record of a database."""

    key: bytes
    value: bytes


class DatumSource(ABC):
    """The records of a database in the order of their keys; an item is an image and a label."""

    def __init__(self, path: str | Path, color: Color) -> None:
        self.path, self.color = Path(path), color

    @abstractmethod
    def __len__(self) -> int:
        """How many records there are."""

    @abstractmethod
    def fetch(self, index: int) -> DatumRecord:
        """One record."""

    @abstractmethod
    def close(self) -> None:
        """Close the database."""

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, if the database's folder has them."""
        return class_names_in(self.path)

    def item(self, fetched: DatumRecord) -> Item:
        """The image, uint8 or float32, and the label."""
        where = self.where(fetched)
        datum = _datum(fetched.value, where)
        image = decode(datum.data, self.color, where) if datum.encoded else raw_image(datum, where)
        return image, np.array(datum.label, np.float32)

    def where(self, record: DatumRecord) -> str:
        """The place of a record in the database, for errors."""
        return f"{self.path}: record '{record.key.decode('ascii', 'backslashreplace')}'"


def _datum(value: bytes, where: str) -> pb.Datum:
    try:
        return pb.Datum.FromString(value)
    except DecodeError:
        raise DataError(f"{where}: isn't a Datum; the database is damaged, or Caffe didn't write it") from None


def raw_image(datum: pb.Datum, where: str) -> Array:
    """The image of values that aren't encoded. Caffe's rule: bytes win where a record also has floats."""
    shape = (datum.channels, datum.height, datum.width)
    if min(shape) <= 0:
        raise DataError(f"{where}: has {shape} channels, height and width, so it holds no image")
    count, values = shape[0] * shape[1] * shape[2], np.frombuffer(datum.data, np.uint8)
    if not values.size:
        values = np.fromiter(datum.float_data, np.float32)
    if values.size < count:
        raise DataError(f"{where}: has {values.size:,} values for an image of {shape}, which needs {count:,}")
    return values[:count].reshape(shape)


def check_folder(path: Path, needed: str, kind: str) -> None:
    """Raise a DataError unless a path is a folder with the file that every database of its kind has."""
    if not path.exists():
        raise DataError(f"{path}: there is no such folder; it should be {kind}")
    if not path.is_dir():
        raise DataError(f"{path}: is a file; {kind} is a folder, with {needed} in it")
    if not (path / needed).is_file():
        raise DataError(f"{path}: isn't {kind}, because it has no {needed}")
