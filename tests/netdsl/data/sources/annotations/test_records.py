"""Databases of AnnotatedDatum records as sets of images with objects."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.annotations.annotated_image import Edges, MarkedObject
from netdsl.data.sources.annotations.records import AnnotatedRecords
from netdsl.data.sources.open_source import find_source, open_annotated_set
from netdsl.data.sources.source_name import Content
from netdsl.data.writing.databases import lmdb_records, lmdb_writer
from netdsl.data.writing.example import Example
from netdsl.errors import DataError

PIXELS = np.random.default_rng(2).integers(0, 256, (20, 30, 3), np.uint8)


def record(*labels: int, **datum: object) -> bytes:
    made = pb.AnnotatedDatum(type=pb.AnnotatedDatum.BBOX)
    made.datum.CopyFrom(pb.Datum(**({"data": cv2.imencode(".png", PIXELS)[1].tobytes(), "encoded": True} | datum)))
    for label in labels:
        group = made.annotation_group.add(group_label=label)
        group.annotation.add(bbox=pb.NormalizedBBox(xmin=0.1, ymin=0.25, xmax=0.3, ymax=0.5, difficult=label == 3))
    return made.SerializeToString()


def write(path: Path, *records: tuple[bytes, bytes]) -> Path:
    with lmdb_records(path, map_size=1 << 20) as put:
        for key, value in records:
            put(key, value)
    return path


def test_boxes_are_parts_of_the_image_from_its_first_pixel(tmp_path: Path) -> None:
    path = write(tmp_path / "a", (b"00000000_VOC2007/JPEGImages/000001.jpg", record(3, 1)), (b"key", record()))
    read = open_annotated_set(str(path))
    assert read.classes == ("background", "1", "2", "3") and len(read) == 2
    image = read.image(0)
    assert (image.name, image.height, image.width) == ("VOC2007/JPEGImages/000001", 20, 30)
    assert image.objects == (
        MarkedObject(3, Edges(3, 5, 9, 10), difficult=True),
        MarkedObject(1, Edges(3, 5, 9, 10)),
    )
    assert (read.image(1).name, read.image(1).objects) == ("key", ())
    assert AnnotatedRecords(path, first_pixel=1).image(0).objects[1].edges == Edges(2, 4, 9, 10)


def test_a_file_names_the_classes(tmp_path: Path) -> None:
    path = write(tmp_path / "a", (b"0", record(2)))
    (tmp_path / "names").write_text("cat\ndog\n")
    assert open_annotated_set(f"lmdb:{path}?classes={tmp_path / 'names'}").classes == ("background", "cat", "dog")
    (path / "labelmap.prototxt").write_text('item { name: "x" label: 0 display_name: "background" } item { label: 1 }')
    with pytest.raises(DataError, match=r"record '0': has an object of class 2; there are 1 to 1"):
        open_annotated_set(str(path)).image(0)


def test_pixels_that_are_not_encoded_are_kept(tmp_path: Path) -> None:
    raw = PIXELS.transpose(2, 0, 1).tobytes()
    path = write(tmp_path / "a", (b"0", record(1, data=raw, encoded=False, channels=3, height=20, width=30)))
    decoded = cv2.imdecode(np.frombuffer(open_annotated_set(str(path)).image(0).read(), np.uint8), cv2.IMREAD_COLOR)
    np.testing.assert_array_equal(decoded, PIXELS)


def test_databases_of_other_records_are_no_such_sets(tmp_path: Path) -> None:
    with lmdb_writer(tmp_path / "plain", map_size=1 << 20) as put:
        put(Example(0, "", (PIXELS.transpose(2, 0, 1), np.array(3))))
    unmarked = pb.AnnotatedDatum(datum=pb.Datum(data=b"x", encoded=True, label=3)).SerializeToString()
    write(tmp_path / "unmarked", (b"0", unmarked))
    write(tmp_path / "marked", (b"0", record(1)))
    for name, expected in (("plain", False), ("unmarked", False), ("marked", True), ("nothing", False)):
        sources = [find_source(f"{kind}{tmp_path / name}") for kind in ("", "lmdb:")]
        assert [bool(source) and source.content is Content.MARKED_IMAGES for source in sources] == [expected] * 2
