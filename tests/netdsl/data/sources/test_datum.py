""""""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.datum import AnnotatedDatumSource
from netdsl.data.sources.lmdb import LmdbSource
from netdsl.data.transforms.decode import Color
from netdsl.errors import DataError
from tests.netdsl.data.sources.test_lmdb import database
from tests.small_data import png

BOX, BOX_AND_MAP, LANE = pb.AnnotatedDatum.BBOX, pb.AnnotatedDatum.BBOXandSeg, pb.AnnotatedDatum.LANE
PIXELS = np.random.default_rng(0).integers(0, 256, (4, 6, 3), dtype=np.uint8)


def record(kind: int | None = BOX, **datum: object) -> pb.AnnotatedDatum:
    """Return a record with two objects of class 7, the second one difficult, and one object of class 2."""
    made = pb.AnnotatedDatum(datum=pb.Datum(**{"data": png(PIXELS), "encoded": True, "label": 5} | datum))
    if kind is not None:
        made.type = kind
    for label, boxes in ((7, ((0.25, 0.5, 0.75, 1), (0, 0, 0.5, 0.25))), (2, ((0.125, 0, 1, 1),))):
        group = made.annotation_group.add(group_label=label)
        for number, (left, top, right, bottom) in enumerate(boxes):
            box = group.annotation.add(instance_id=number).bbox
            box.xmin, box.ymin, box.xmax, box.ymax = left, top, right, bottom
            box.difficult = number == 1
    return made


def source(
    path: Path, *records: pb.AnnotatedDatum | pb.Datum, color: Color = Color.AS_STORED, **how: bool
) -> AnnotatedDatumSource:
    return AnnotatedDatumSource(
        LmdbSource(database(path, [each.SerializeToString() for each in records]), color), **how
    )


def items(opened: AnnotatedDatumSource) -> list[tuple[np.ndarray, ...]]:
    return [opened.item(opened.fetch(index)) for index in range(len(opened))]


def test_an_image_is_read_with_a_row_for_each_object(tmp_path: Path) -> None:
    ((image, rows),) = items(source(tmp_path / "db", record()))
    assert (image == PIXELS.transpose(2, 0, 1)).all()
    assert rows.dtype == np.float32
    assert rows.tolist() == [[7, 0, 0.25, 0.5, 0.75, 1, 0], [7, 1, 0, 0, 0.5, 0.25, 1], [2, 0, 0.125, 0, 1, 1, 0]]


def test_raw_images_without_objects_are_read(tmp_path: Path) -> None:
    values = PIXELS.transpose(2, 0, 1).tobytes()
    bare = pb.AnnotatedDatum(datum=pb.Datum(channels=3, height=4, width=6, data=values), type=BOX)
    ((image, rows),) = items(source(tmp_path / "db", bare))
    assert (image == PIXELS.transpose(2, 0, 1)).all() and rows.shape == (0, 7)
    gray = items(source(tmp_path / "gray", record(), color=Color.GRAY))[0][0]
    assert gray.shape == (1, 4, 6)


def test_a_class_map_is_returned_on_request(tmp_path: Path) -> None:
    classes = np.arange(24, dtype=np.uint8).reshape(4, 6)
    both = record(BOX_AND_MAP, seg_label=png(classes))
    assert len(items(source(tmp_path / "boxes", both))[0]) == 2
    assert (items(source(tmp_path / "maps", both, maps=True))[0][2] == classes[None]).all()
    with pytest.raises(DataError, match="has no class map"):
        items(source(tmp_path / "none", record(), maps=True))


def test_records_without_an_annotation_have_labels(tmp_path: Path) -> None:
    ((_, label),) = items(source(tmp_path / "labels", record(None)))
    assert label == 5 and label.shape == ()
    assert len(items(source(tmp_path / "boxes", record(None), annotated=True))[0][1]) == 3


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ((record(LANE),), "annotations of type LANE"),
        ((record(), record(None)), "00000001_x.*doesn't state its type of annotation"),
        ((pb.Datum(data=png(PIXELS), encoded=True, height=4),), "read records of Datum with a Data layer"),
        ((record(data=b"no image"),), "can't be decoded as an image"),
        ((pb.AnnotatedDatum(datum=pb.Datum(height=4), type=BOX),), "the record isn't an image"),
    ],
)
def test_records_that_cannot_be_read_are_refused(
    tmp_path: Path, records: tuple[pb.AnnotatedDatum, ...], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        items(source(tmp_path / "db", *records))


def test_damaged_records_and_boxes_without_places_are_refused(tmp_path: Path) -> None:
    opened = AnnotatedDatumSource(LmdbSource(database(tmp_path / "db", [b"\xff\xff\xff"])))
    with pytest.raises(DataError, match="not an AnnotatedDatum; the database is damaged"):
        items(opened)
    wrong = record()
    wrong.annotation_group[0].annotation[1].bbox.ymin = float("nan")
    with pytest.raises(DataError, match="the edges of a box aren't numbers"):
        items(source(tmp_path / "nan", wrong))


def test_classes_are_read_from_the_folder_unless_they_are_named(tmp_path: Path) -> None:
    opened = source(tmp_path / "db", record())
    (tmp_path / "db" / "labels.txt").write_text("background\ncat\n")
    assert opened.classes == ()
    records = LmdbSource(tmp_path / "db")
    assert AnnotatedDatumSource(records).classes == ("background", "cat")
    assert AnnotatedDatumSource(records, classes=["none", "dog"]).classes == ("none", "dog")
