"""Databases of CMU's pose nets among the sets of images with objects."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netdsl.data.sources.open_source import open_annotated_set, parse_source
from netdsl.data.sources.poses import PoseSet
from netdsl.data.sources.source_name import Content
from netdsl.data.writing.databases import lmdb_writer, write_records
from netdsl.data.writing.example import Example
from netdsl.data.writing.pose_database import pose_record
from netdsl.errors import DataError


def write(path: Path, masks: int = 2) -> Path:
    people = np.array([[[10, 12, 0.5], [4, 5, 1], [20, 9, 0]], [[30, 12, 0.5], [-1, -1, 2], [-1, -1, 2]]])
    image, planes = np.full((3, 20, 64), 7, np.uint8), np.full((masks, 20, 64), 255, np.uint8)
    planes[:1, 3:8, 40:50] = 0
    write_records(path, [(b"0000000", pose_record(image, planes, people, "COCO"))])
    return path


def test_a_database_is_known_by_its_first_record(tmp_path: Path) -> None:
    path = write(tmp_path / "poses")
    known, said = parse_source(str(path)), parse_source(f"poses:{path}")
    assert known == said and known.content is Content.MARKED_IMAGES
    assert known.form.is_database  # a net's own layer reads it
    assert parse_source(str(path), Content.ITEMS).kind == "lmdb"
    with lmdb_writer(tmp_path / "plain") as put:
        put(Example(0, "", (np.zeros((6, 20, 30), np.uint8), np.array(3))))
    assert parse_source(str(tmp_path / "plain")).content is Content.ITEMS


def test_people_have_cocos_numbers_and_the_mask_is_a_crowd(tmp_path: Path) -> None:
    first, other, crowd = open_annotated_set(f"poses:{write(tmp_path / 'db')}?joints=2").image(0).objects
    assert first.joints == ((5, 6, 1), (21, 10, 0)) and first.edges == (5, 6, 21, 10)
    assert not other.has_joints and other.edges == (31, 13, 31, 13)
    assert crowd.crowd and crowd.edges == (40, 3, 50, 8) and crowd.runs is not None and crowd.runs.area == 50


def test_records_without_a_mask_are_read_too(tmp_path: Path) -> None:
    image = PoseSet(write(tmp_path / "db", masks=0), joints=2).image(0)
    assert len(image.objects) == 2 and (image.height, image.width) == (20, 64)


def test_the_number_of_joints_is_checked(tmp_path: Path) -> None:
    path = write(tmp_path / "db")
    with pytest.raises(DataError, match="can't have 0 joints; say how many, joints=N"):
        PoseSet(path, joints=0)
    with pytest.raises(DataError, match="its fourth channel is too small for the joints"):
        PoseSet(path, joints=1000).image(0)
