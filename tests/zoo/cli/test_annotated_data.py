"""`zoo data` on images whose objects are marked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import cv2
import lmdb
import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb

SOURCE = "objects:train?count=12&side=48&kinds=circle,square"


@pytest.fixture
def voc(zoo) -> None:
    """A folder V as Pascal VOC's."""
    assert zoo("data", "convert", SOURCE, "voc:V").code == 0


def test_sets_are_converted_and_what_is_lost_is_said(zoo, voc) -> None:
    code, out, err = zoo("data", "convert", "V", "train_lmdb")
    objects = int(out.split()[3])
    assert code == 0 and out == f"12 images with {objects} objects written\n" and objects >= 12
    lost = f"zoo: left out: masks ({objects}), which train_lmdb can't have; `maps:FOLDER` has the class of each pixel"
    assert err.splitlines()[-1] == lost
    assert sorted(path.name for path in Path("train_lmdb").iterdir()) == [
        "data.mdb",
        "labelmap.prototxt",
        "test_name_size.txt",
    ]
    report = json.loads(zoo("data", "convert", "train_lmdb", "coco:c.json", "--json").out)
    assert (report["written"], report["objects"], report["bad"]) == (12, objects, [])


def test_boxes_of_a_database_are_those_of_pascal_voc_again(zoo, voc) -> None:
    """Caffe-SSD's numbers begin at 1 where the files' do, so a database is taken for what it is written as."""
    zoo("data", "convert", "V", "train_lmdb")
    zoo("data", "convert", "train_lmdb", "voc:again")
    for path in Path("V/Annotations").iterdir():
        lines = [
            text.split("<folder>")[0] for text in path.read_text().splitlines() if "min>" in text or "max>" in text
        ]
        again = Path("again/Annotations", path.name).read_text().splitlines()
        assert sorted(lines) == sorted(text for text in again if "min>" in text or "max>" in text)
    zoo("data", "convert", "train_lmdb?first_pixel=1", "coco:one.json")
    zoo("data", "convert", "V", "coco:voc.json")
    boxes = [
        sorted(annotation["bbox"] for annotation in json.loads(Path(name).read_text())["annotations"])
        for name in ("one.json", "voc.json")
    ]
    assert len(boxes[0]) == len(boxes[1])
    for one, other in zip(*boxes, strict=True):
        assert one == pytest.approx(other, abs=1e-3)


def test_a_set_is_shown_with_its_boxes(zoo, voc) -> None:
    code, out, err = zoo("data", "show", "V", "--sheet", "sheet.png", "--count", "4")
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    objects = int(lines[0][3])
    assert lines[0] == ["V:", "12", "images,", str(objects), "objects", "of", "2", "classes"]
    assert lines[1] == ["sizes:", "48", "x", "48", "(12)"]
    assert [line[1] for line in lines[2:4]] == ["circle,", "square,"]
    assert sum(int(line[0]) for line in lines[2:4]) == objects
    assert out.endswith("with masks\n  with maps of classes: 12 images\nwrote sheet.png\n")
    assert cv2.imread("sheet.png").shape[1] > 2 * 192
    found = json.loads(zoo("data", "show", "V", "--json").out)
    assert found["images"] == 12 and found["small"] + found["medium"] == found["objects"] == objects
    assert found["sizes"] == [{"height": 48, "width": 48, "images": 12}]


def test_maps_of_classes_are_shown_laid_over(zoo) -> None:
    zoo("data", "convert", SOURCE, "maps:maps")
    for name in Path("maps/images").iterdir():
        cv2.imwrite(str(name), np.zeros((48, 48, 3), np.uint8))
    code, out, _ = zoo("data", "show", "maps", "--sheet", "sheet.png")
    assert code == 0 and "with maps of classes: 12 images" in out
    sheet = cv2.imread("sheet.png")
    dark_red, dark_green = (np.rint(0.45 * 128 * np.array(color)) for color in ((0, 0, 1), (0, 1, 0)))
    for color in (dark_red, dark_green):  # Pascal VOC's colours of the first two classes, over black
        assert (abs(sheet - color).max(-1) <= 1).sum() > 100


def test_what_looks_like_a_mistake_is_counted(zoo, voc) -> None:
    path = next(path for path in Path("V/Annotations").iterdir() if path.read_text().count("<object>") == 1)
    text = path.read_text()
    start, end = text.index("<xmax>"), text.index("</xmax>")
    path.write_text(f"{text[:start]}<xmax>99{text[end:]}")
    other = next(each for each in Path("V/Annotations").iterdir() if each != path)
    other.write_text("<annotation>")
    code, out, err = zoo("data", "show", "V")
    assert code == 0 and "1 partly outside" in out
    assert err.startswith(f"zoo: 1 image can't be read; the first: {other}:1: isn't well-formed XML")
    assert zoo("data", "convert", "V", "out_lmdb") == (2, "", err.replace("1 image can't be read; the first: ", ""))
    done = zoo("data", "convert", "V", "out_lmdb", "--skip-bad")
    assert done.out.endswith(", 1 bad one skipped\n") and f"zoo: skipped: {other}:1" in done.err


def test_sides_and_parts(zoo, voc) -> None:
    zoo("data", "convert", "V?part=test", "small_lmdb", "--max-dim", "24", "--encoded", "jpg")
    with lmdb.open("small_lmdb", readonly=True, lock=False) as environment, environment.begin() as transaction:
        records = [pb.AnnotatedDatum.FromString(value).datum for _, value in transaction.cursor()]
    assert [(datum.height, datum.width) for datum in records] == [(24, 24)] * 2
    assert all(datum.data.startswith(b"\xff\xd8") for datum in records)
    done = zoo("data", "convert", "V", "x_lmdb", "--max-dim", "24", "--resize", "3x4")
    assert done.code == 2 and "give one of these" in done.err
    shutil.rmtree("small_lmdb")
    done = zoo("data", "convert", "digits", "x_lmdb", "--min-dim", "24")
    assert done.code == 2 and "are for images with objects" in done.err
    done = zoo("data", "convert", "V", "x.parquet")
    assert done.code == 2 and "the name doesn't say what to write; use lmdb:PATH" in done.err
    done = zoo("data", "convert", "digits", "voc:x")
    assert done.code == 2 and "voc:x: only images with marked objects can be written so; digits has none" in done.err
