"""Databases of Caffe's Datum records, or of AnnotatedDatum records with boxes, class maps or lanes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from google.protobuf.message import DecodeError

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.class_names import class_names_in
from netdsl.data.sources.source import Item
from netdsl.data.transforms.boxes import COLUMNS
from netdsl.data.transforms.decode import Color, decode, decode_pixels
from netdsl.data.types import Array
from netdsl.errors import DataError

_READABLE = (pb.AnnotatedDatum.BBOX, pb.AnnotatedDatum.BBOXandSeg)
MOST_LANES, MOST_POINTS = 5, 64  # lanes in an image, and points in a lane


class DatumRecord(NamedTuple):
    """One record of a database."""

    key: bytes
    value: bytes


class DatumSource(ABC):
    """The records of a database in the order of their keys. An item is an image and a label."""

    def __init__(self, path: str | Path, color: Color) -> None:
        self.path, self.color = Path(path), color

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of records."""

    @abstractmethod
    def fetch(self, index: int) -> DatumRecord:
        """Return one record."""

    @abstractmethod
    def close(self) -> None:
        """Close the database."""

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes. The sequence is empty if the database's folder doesn't state them."""
        return class_names_in(self.path)

    def item(self, fetched: DatumRecord) -> Item:
        """Return the image, in uint8 or float32, and the label."""
        where = self.where(fetched)
        datum = _datum(fetched.value, where)
        image = decode(datum.data, self.color, where) if datum.encoded else raw_image(datum, where)
        return image, np.array(datum.label, np.float32)

    def where(self, record: DatumRecord) -> str:
        """Return the place of a record for errors: the database and the key."""
        return f"{self.path}: record '{record.key.decode('ascii', 'backslashreplace')}'"


def _datum(value: bytes, where: str) -> pb.Datum:
    try:
        return pb.Datum.FromString(value)
    except DecodeError:
        raise DataError(
            f"{where}: not a Datum; the database is damaged, or Caffe didn't write it, so write it again with "
            "`zoo data convert`"
        ) from None


def raw_image(datum: pb.Datum, where: str) -> Array:
    """Return the image of a record that isn't encoded. As in Caffe, bytes win if a record also contains floats."""
    shape = (datum.channels, datum.height, datum.width)
    if min(shape) <= 0:
        raise DataError(
            f"{where}: the record isn't an image: its channels, height and width are {shape}; write the database "
            "again with `zoo data convert --skip-bad`, which leaves it out"
        )
    count, values = shape[0] * shape[1] * shape[2], np.frombuffer(datum.data, np.uint8)
    if not values.size:
        values = np.fromiter(datum.float_data, np.float32)
    if values.size < count:
        raise DataError(
            f"{where}: the record has {values.size:,} values, but an image of {shape} needs {count:,}; write "
            "the database again with `zoo data convert --skip-bad`, which leaves it out"
        )
    return values[:count].reshape(shape)


def check_folder(path: Path, needed: str, kind: str) -> None:
    """Raise a `DataError` unless the path is a folder with the file that all databases of its kind contain."""
    if not path.exists():
        raise DataError(f"{path}: there is no such folder; name {kind}")
    if not path.is_dir():
        raise DataError(f"{path}: the path is a file, but {kind} is a folder with {needed} in it; name the folder")
    if not (path / needed).is_file():
        raise DataError(
            f"{path}: the folder isn't {kind}, because it has no {needed}; name the folder that contains {needed}"
        )


class AnnotatedDatumSource:
    """The images of a database, with a row for each of their objects and, with `maps`, a class for each pixel.

    A row contains the object's class, its number within the class, the left, upper, right and lower edge of its box as
    shares of the image's size, and 1 if it is difficult. As in Caffe, records without a type of annotation have a label
    in place of rows. The first record decides this for all records, unless `annotated` is set.

    An image is a view, with channels, height and width, of the array that OpenCV decoded, so that OpenCV can process it
    further.
    """

    def __init__(
        self, records: DatumSource, *, annotated: bool = False, maps: bool = False, classes: Sequence[str] = ()
    ) -> None:
        self._records, self._shadowed, self._maps = records, annotated, maps
        self.classes = tuple(classes) or records.classes
        self.annotated = annotated or self._first_is_annotated()

    def _first_is_annotated(self) -> bool:
        try:
            first = self._records.fetch(0)
            return self.record(first).HasField("type")
        except DataError:
            return True  # reading the items raises the error

    def __len__(self) -> int:
        return len(self._records)

    def fetch(self, index: int) -> DatumRecord:
        """Return one record."""
        return self._records.fetch(index)

    def item(self, fetched: DatumRecord) -> Item:
        """Return the image, in uint8 or float32, its rows or its label, and its class map if there is one."""
        where, annotated = self._records.where(fetched), self.record(fetched)
        datum = annotated.datum
        if not self.annotated:
            return self._image(datum, where), np.array(datum.label, np.float32)
        if not self._shadowed and annotated.type not in _READABLE:
            kind = pb.AnnotatedDatum.AnnotationType.Name(annotated.type)
            raise DataError(
                f"{where}: the record has annotations of type {kind}, but only boxes can be read; write the "
                "database again with `zoo data convert` from the original annotations"
            )
        if not self._shadowed and not annotated.HasField("type"):
            raise DataError(
                f"{where}: the record doesn't state its type of annotation, as others do; set anno_type: BBOX "
                "in the layer's annotated_data_param"
            )
        return self._image(datum, where), box_rows(annotated, where), *self._map(datum, where)

    def record(self, fetched: DatumRecord) -> pb.AnnotatedDatum:
        """Return a record as Caffe-SSD's message. Raises a `DataError` if it has no image."""
        where = self._records.where(fetched)
        try:
            annotated = pb.AnnotatedDatum.FromString(fetched.value)
        except DecodeError:
            raise DataError(
                f"{where}: not an AnnotatedDatum; the database is damaged, or contains other records, so write "
                "it again with `zoo data convert`"
            ) from None
        if not annotated.HasField("datum"):
            raise DataError(
                f"{where}: not an AnnotatedDatum with an image; read records of Datum with a Data layer instead of "
                "AnnotatedData"
            )
        return annotated

    def _image(self, datum: pb.Datum, where: str) -> Array:
        if not datum.encoded:
            return raw_image(datum, where)
        return decode_pixels(datum.data, self._records.color, where).transpose(2, 0, 1)

    def _map(self, datum: pb.Datum, where: str) -> tuple[Array, ...]:
        if not self._maps:
            return ()
        if not datum.seg_label:
            raise DataError(
                f"{where}: the record has no class map, which the layer's third top needs; remove that top, or use "
                "a database with class maps"
            )
        return (decode(datum.seg_label, Color.GRAY, f"{where}: its class map"),)

    def close(self) -> None:
        """Close the database."""
        self._records.close()


def box_rows(annotated: pb.AnnotatedDatum, where: str) -> Array:
    """Return a row for each object in a record."""
    rows = [
        (group.group_label, annotation.instance_id, box.xmin, box.ymin, box.xmax, box.ymax, box.difficult)
        for group in annotated.annotation_group
        for annotation in group.annotation
        for box in (annotation.bbox,)
    ]
    values = np.array(rows, np.float32).reshape(-1, COLUMNS)
    if not np.isfinite(values).all():
        raise DataError(
            f"{where}: the edges of a box aren't numbers; write the database again from the original annotations"
        )
    return values


class LaneDatumSource(AnnotatedDatumSource):
    """The images of a database with the points of their lanes: x and y as shares of the image's size, for each lane.

    Unused places are NaN, because lanes have different numbers of points. As in Caffe, a lane's last point comes first.
    """

    def __init__(self, records: DatumSource) -> None:
        super().__init__(records, annotated=True)

    def item(self, fetched: DatumRecord) -> Item:
        """Return the image and its points by lane."""
        where, annotated = self._records.where(fetched), self.record(fetched)
        if annotated.type != pb.AnnotatedDatum.LANE:
            kind = pb.AnnotatedDatum.AnnotationType.Name(annotated.type)
            raise DataError(
                f"{where}: the record has annotations of type {kind}, not lanes; read it with an AnnotatedData layer"
            )
        return self._image(annotated.datum, where), _points(annotated, where)


def _points(annotated: pb.AnnotatedDatum, where: str) -> Array:
    points = np.full((MOST_LANES, MOST_POINTS, 2), np.nan, np.float32)
    lanes = annotated.annotation_group
    longest = max((len(lane.annotation) for lane in lanes), default=0)
    if len(lanes) > MOST_LANES or longest > MOST_POINTS:
        raise DataError(
            f"{where}: the record has {len(lanes)} lanes of up to {longest} points; write at most {MOST_LANES} "
            f"lanes of {MOST_POINTS} points"
        )
    for number, lane in enumerate(lanes):
        for place, point in enumerate(reversed(lane.annotation)):
            points[number, place] = point.lanes.x, point.lanes.y
    return points
