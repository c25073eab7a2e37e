"""Folders of images with class maps, as conversions and other programs write them."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from netdsl.data.sources.annotations.drawn import DrawnObjects
from netdsl.data.sources.annotations.map_folder import MapFolder
from netdsl.data.sources.annotations.masks import class_map, object_map
from netdsl.data.sources.annotations.voc import VocFolder
from netdsl.data.sources.open_source import open_annotated_set
from netdsl.data.sources.source import DataSplit
from netdsl.data.writing.convert_annotated import convert_annotated
from netdsl.errors import DataError

DRAWN = DrawnObjects(DataSplit.TRAIN, count=6)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def maps_of(annotated) -> list[np.ndarray]:
    return [class_map(annotated.image(index)) for index in range(len(annotated))]


def test_maps_that_were_written_are_read() -> None:
    convert_annotated(DRAWN, "maps:out")
    for read in (open_annotated_set("maps:out"), open_annotated_set("out")):
        assert isinstance(read, MapFolder)
        assert list(read.classes) == list(DRAWN.classes)
        np.testing.assert_array_equal(maps_of(read), maps_of(DRAWN))
        assert read.image(0).read() == DRAWN.image(0).read()
        assert object_map(read.image(0)) is None


def test_maps_are_converted_to_pascal_voc_and_reported_as_lost_elsewhere() -> None:
    convert_annotated(DRAWN, "maps:out")
    assert convert_annotated(MapFolder("out"), "voc:voc").left_out == {}
    np.testing.assert_array_equal(maps_of(VocFolder("voc", image_set="Segmentation/trainval")), maps_of(DRAWN))
    assert not Path("voc/SegmentationObject").exists()
    for target in ("coco:coco.json", "train_lmdb", "yolo:yolo"):
        assert convert_annotated(MapFolder("out"), target).left_out == {"maps of classes": 6}


@pytest.mark.parametrize(
    ("text", "names", "problem"),
    [
        ("", "background\na\n", "list.txt: the list is empty"),
        (
            "a.png\n",
            "background\na\n",
            "list.txt:1: the line must contain the path of an image and the path of its map",
        ),
        ("../a.png m.png\n", "background\na\n", "list.txt:1"),
        ("gone.png m.png\n", "background\na\n", "gone.png"),
        ("a.png m.png\n", None, "no labels.txt with the names of classes"),
    ],
)
def test_problems_are_reported(text: str, names: str | None, problem: str) -> None:
    Path("set").mkdir()
    cv2.imwrite("set/a.png", np.zeros((4, 5, 3), np.uint8))
    Path("set/list.txt").write_text(text)
    if names:
        Path("set/labels.txt").write_text(names)
    with pytest.raises(DataError, match=problem):
        MapFolder("set").image(0)
