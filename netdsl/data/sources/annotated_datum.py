"""Databases of SSD's AnnotatedDatum records, which hold an image and the boxes of what it shows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from google.protobuf.message import DecodeError

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.datum import DatumRecord, DatumSource, raw_image
from netdsl.data.sources.source import Item
from netdsl.data.transforms.box_tops import COLUMNS
from netdsl.data.transforms.decode import Color, decode, decode_pixels
from netdsl.data.types import Array
from netdsl.errors import DataError

_READABLE = (pb.AnnotatedDatum.BBOX, pb.AnnotatedDatum.BBOXandSeg)


class AnnotatedDatumSource:
    """The images of a database with a row for each object in them, and with `maps` a class for each pixel.

    A row has the object's class, its number among those of its class, the left, upper, right and lower edge of its box
    as parts of the image, and 1 if it is difficult. As in Caffe, records that don't say what they are annotated with
    have a label in place of rows, and the first record speaks for all, unless `annotated` does.

    An image is a view, of channels, height and width, on what OpenCV decoded, so that OpenCV can go on with it.
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
            return True  # whoever reads the record as an item will say what is wrong with it

    def __len__(self) -> int:
        return len(self._records)

    def fetch(self, index: int) -> DatumRecord:
        """One record."""
        return self._records.fetch(index)

    def item(self, fetched: DatumRecord) -> Item:
        """The image, uint8 or float32, its rows or its label, and maybe its map of classes."""
        where, annotated = self._records.where(fetched), self.record(fetched)
        datum = annotated.datum
        if not self.annotated:
            return self._image(datum, where), np.array(datum.label, np.float32)
        if not self._shadowed and annotated.type not in _READABLE:
            kind = pb.AnnotatedDatum.AnnotationType.Name(annotated.type)
            raise DataError(f"{where}: is annotated with {kind}, of which only boxes can be read")
        if not self._shadowed and not annotated.HasField("type"):
            raise DataError(f"{where}: doesn't say what it is annotated with, as others do; set anno_type for all")
        return self._image(datum, where), box_rows(annotated, where), *self._map(datum, where)

    def record(self, fetched: DatumRecord) -> pb.AnnotatedDatum:
        """A record as Caffe-SSD's message, which has an image."""
        where = self._records.where(fetched)
        try:
            annotated = pb.AnnotatedDatum.FromString(fetched.value)
        except DecodeError:
            raise DataError(f"{where}: isn't an AnnotatedDatum; the database is damaged, or is no such one") from None
        if not annotated.HasField("datum"):
            raise DataError(f"{where}: isn't an AnnotatedDatum with an image; a Data layer reads records of Datum")
        return annotated

    def _image(self, datum: pb.Datum, where: str) -> Array:
        if not datum.encoded:
            return raw_image(datum, where)
        return decode_pixels(datum.data, self._records.color, where).transpose(2, 0, 1)

    def _map(self, datum: pb.Datum, where: str) -> tuple[Array, ...]:
        if not self._maps:
            return ()
        if not datum.seg_label:
            raise DataError(f"{where}: has no map of classes, which the layer's third top needs")
        return (decode(datum.seg_label, Color.GRAY, f"{where}: its map of classes"),)

    def close(self) -> None:
        """Close the database."""
        self._records.close()


def box_rows(annotated: pb.AnnotatedDatum, where: str) -> Array:
    """A row for each object of a record."""
    rows = [
        (group.group_label, annotation.instance_id, box.xmin, box.ymin, box.xmax, box.ymax, box.difficult)
        for group in annotated.annotation_group
        for annotation in group.annotation
        for box in (annotation.bbox,)
    ]
    values = np.array(rows, np.float32).reshape(-1, COLUMNS)
    if not np.isfinite(values).all():
        raise DataError(f"{where}: has a box whose edges aren't numbers")
    return values
