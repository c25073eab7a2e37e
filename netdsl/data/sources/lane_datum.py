"""Databases of MobileNet-YOLO's AnnotatedDatum records, which hold an image of a road and the points of its lanes."""

from __future__ import annotations

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.annotated_datum import AnnotatedDatumSource
from netdsl.data.sources.datum import DatumRecord, DatumSource
from netdsl.data.sources.source import Item
from netdsl.data.types import Array
from netdsl.errors import DataError

MOST_LANES, MOST_POINTS = 5, 64  # of an image, and of a lane


class LaneDatumSource(AnnotatedDatumSource):
    """The images of a database with the points of their lanes: x and y, as parts of the image, of each lane in turn.

    Lanes have different numbers of points; places without one are NaN. Caffe's rule: a lane's last point comes first.
    """

    def __init__(self, records: DatumSource) -> None:
        super().__init__(records, annotated=True)

    def item(self, fetched: DatumRecord) -> Item:
        """The image, and its points by lane."""
        where, annotated = self._records.where(fetched), self.record(fetched)
        if annotated.type != pb.AnnotatedDatum.LANE:
            kind = pb.AnnotatedDatum.AnnotationType.Name(annotated.type)
            raise DataError(f"{where}: is annotated with {kind}, and not with lanes; take AnnotatedData")
        return self._image(annotated.datum, where), _points(annotated, where)


def _points(annotated: pb.AnnotatedDatum, where: str) -> Array:
    points = np.full((MOST_LANES, MOST_POINTS, 2), np.nan, np.float32)
    lanes = annotated.annotation_group
    longest = max((len(lane.annotation) for lane in lanes), default=0)
    if len(lanes) > MOST_LANES or longest > MOST_POINTS:
        raise DataError(
            f"{where}: has {len(lanes)} lanes of up to {longest} points; there can be {MOST_LANES} of {MOST_POINTS}"
        )
    for number, lane in enumerate(lanes):
        for place, point in enumerate(reversed(lane.annotation)):
            points[number, place] = point.lanes.x, point.lanes.y
    return points
