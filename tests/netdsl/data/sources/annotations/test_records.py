"""Databases of AnnotatedDatum records as annotated sets, and annotated sets as records."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.annotations.annotated_image import Edges, MarkedObject
from netdsl.data.sources.annotations.masks import class_map
from netdsl.data.sources.annotations.records import AnnotatedRecords, MarkedItems
from netdsl.data.sources.datum import AnnotatedDatumSource
from netdsl.data.sources.lmdb import LmdbSource
from netdsl.data.sources.open_source import find_source, open_annotated_set
from netdsl.data.sources.source_name import Content
from netdsl.data.transforms.decode import Color
from netdsl.data.writing.convert_annotated import convert_annotated
from netdsl.data.writing.databases import lmdb_writer
from netdsl.data.writing.example import Example
from netdsl.errors import DataError
from tests.small_data import png, write_lmdb
from tests.voc_folder import VocImage, VocObject, write_voc

PIXELS = np.random.default_rng(2).integers(0, 256, (20, 30, 3), np.uint8)


def record(*labels: int, **datum: object) -> bytes:
    made = pb.AnnotatedDatum(type=pb.AnnotatedDatum.BBOX)
    made.datum.CopyFrom(pb.Datum(**({"data": png(PIXELS), "encoded": True} | datum)))
    for label in labels:
        group = made.annotation_group.add(group_label=label)
        group.annotation.add(bbox=pb.NormalizedBBox(xmin=0.1, ymin=0.25, xmax=0.3, ymax=0.5, difficult=label == 3))
    return made.SerializeToString()


def test_boxes_are_fractions_of_the_image_from_its_first_pixel(tmp_path: Path) -> None:
    path = write_lmdb(tmp_path / "a", [(b"00000000_VOC2007/JPEGImages/000001.jpg", record(3, 1)), (b"key", record())])
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


def test_a_label_map_file_names_the_classes(tmp_path: Path) -> None:
    path = write_lmdb(tmp_path / "a", [(b"0", record(2))])
    (tmp_path / "names").write_text("cat\ndog\n")
    assert open_annotated_set(f"lmdb:{path}?classes={tmp_path / 'names'}").classes == ("background", "cat", "dog")
    (path / "labelmap.prototxt").write_text('item { name: "x" label: 0 display_name: "background" } item { label: 1 }')
    with pytest.raises(
        DataError, match=r"record '0': the record has an object of class 2, but classes are numbered 1 to 1"
    ):
        open_annotated_set(str(path)).image(0)


def test_raw_pixels_are_kept(tmp_path: Path) -> None:
    raw = PIXELS.transpose(2, 0, 1).tobytes()
    path = write_lmdb(tmp_path / "a", [(b"0", record(1, data=raw, encoded=False, channels=3, height=20, width=30))])
    decoded = cv2.imdecode(np.frombuffer(open_annotated_set(str(path)).image(0).read(), np.uint8), cv2.IMREAD_COLOR)
    np.testing.assert_array_equal(decoded, PIXELS)


def test_databases_of_other_records_are_refused(tmp_path: Path) -> None:
    with lmdb_writer(tmp_path / "plain", map_size=1 << 20) as put:
        put(Example(0, "", (PIXELS.transpose(2, 0, 1), np.array(3))))
    unmarked = pb.AnnotatedDatum(datum=pb.Datum(data=b"x", encoded=True, label=3)).SerializeToString()
    write_lmdb(tmp_path / "unmarked", [(b"0", unmarked)])
    write_lmdb(tmp_path / "marked", [(b"0", record(1))])
    for name, expected in (("plain", False), ("unmarked", False), ("marked", True), ("nothing", False)):
        sources = [find_source(f"{kind}{tmp_path / name}") for kind in ("", "lmdb:")]
        assert [bool(source) and source.content is Content.MARKED_IMAGES for source in sources] == [expected] * 2


def test_items_equal_those_of_a_database_written_from_them(tmp_path: Path) -> None:
    objects = [VocObject("cat", (3, 4, 20, 17)), VocObject("ant", (1, 1, 7, 9), difficult=True)]
    objects.append(VocObject("cat", (2, 2, 31, 23)))
    write_voc(tmp_path / "voc", [VocImage("a", 23, 31, objects), VocImage("b", 12, 17)])
    marked = MarkedItems(open_annotated_set(f"voc:{tmp_path}/voc"), Color.COLOR)
    convert_annotated(open_annotated_set(f"voc:{tmp_path}/voc"), f"lmdb:{tmp_path}/lmdb")
    stored = AnnotatedDatumSource(LmdbSource(tmp_path / "lmdb", Color.COLOR))
    assert len(marked) == len(stored) == 2
    assert marked.classes == stored.classes == ("background", "ant", "cat")
    for index in range(2):
        image, rows = marked.item(marked.fetch(index))
        stored_image, stored_rows = stored.item(stored.fetch(index))
        assert np.array_equal(image, stored_image)
        order = np.lexsort((stored_rows[:, 1], stored_rows[:, 0]))  # records store objects by class
        assert np.array_equal(rows[np.lexsort((rows[:, 1], rows[:, 0]))], stored_rows[order])
    assert len(marked.item(marked.fetch(0))[1]) == 3
    stored.close()


def test_maps_are_read_from_the_set() -> None:
    objects = open_annotated_set("objects:train?count=1")
    image, rows, labels = MarkedItems(objects, Color.COLOR, maps=True).item((objects.image(0), objects.image(0).read()))
    assert labels.shape == (1, *image.shape[1:])
    assert np.array_equal(labels[0], class_map(objects.image(0)))
    assert set(np.unique(labels)) - {0} <= set(rows[:, 0].astype(int))
