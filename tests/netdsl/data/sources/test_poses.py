"""Databases of poses, which store numbers in the rows of an image channel."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.lmdb import LmdbSource
from netdsl.data.sources.open_source import open_annotated_set, parse_source
from netdsl.data.sources.poses import PoseDatumSource, PoseSet
from netdsl.data.sources.source_name import Content
from netdsl.data.writing.databases import lmdb_writer, write_records
from netdsl.data.writing.example import Example
from netdsl.data.writing.pose_database import pose_record
from netdsl.errors import DataError

pytest.importorskip("lmdb")

HEIGHT, WIDTH = 20, 64


def packed(*rows: bytes, channels: int = 6, height: int = HEIGHT) -> pb.Datum:
    """Return a record as genLMDB.py writes it, with these rows of numbers."""
    values = np.random.default_rng(0).integers(0, 256, (channels, height, WIDTH), np.uint8)
    values[3] = 0
    for number, row in enumerate(rows):
        values[3, number, : len(row)] = np.frombuffer(row, np.uint8)
    return pb.Datum(channels=channels, height=height, width=WIDTH, data=values.tobytes())


def floats(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


ROWS = (
    b"COCO",
    floats(20, 50),  # height and width without padding
    bytes([0, 2, 1]) + floats(5, 3, 9),
    floats(11, 8),
    floats(0.75),
    *(floats(2, 60, 4, 5), floats(3, 4, 0.5, 6), floats(1, 1, 0, 3)),  # four joints: x, y, visibility
    *(floats(21, 9), floats(31, 10), floats(0.5, 0.25)),  # two other persons: their places, their scales
    *(floats(1, 2, 3, 4), floats(5, 6, 7, 8), floats(1, 0, 3, 1)),
    *(floats(9, 9, 9, 51), floats(9, 9, 9, 9), floats(1, 1, 1, 1)),
)


def source(folder: Path, *records: pb.Datum, joints: int = 4, masked: bool = True) -> PoseDatumSource:
    write_records(folder / "db", [(b"%07d" % n, each.SerializeToString()) for n, each in enumerate(records)])
    return PoseDatumSource(LmdbSource(folder / "db"), joints, masked=masked)


def test_people_are_read_from_their_rows(tmp_path: Path) -> None:
    record = packed(*ROWS)
    poses = source(tmp_path, record)
    image, mask, people = poses.item(poses.fetch(0))
    channels = np.frombuffer(record.data, np.uint8).reshape(6, HEIGHT, WIDTH)
    assert (image == channels[:3]).all() and (mask == channels[4:5]).all() and len(poses) == 1
    assert people[:, 0].tolist() == [[10, 7, 0.75], [20, 8, 0.5], [30, 9, 0.25]]
    assert people[0, 1:].tolist() == [[1, 2, 1], [59, 3, 2], [3, -0.5, 2], [4, 5, 3]]
    assert people[1, 1:].tolist() == [[0, 4, 1], [1, 5, 0], [2, 6, 1], [3, 7, 1]]
    assert people[2, 1:, 2].tolist() == [1, 1, 1, 2]


def test_without_a_mask_a_joint_is_marked_or_not(tmp_path: Path) -> None:
    poses = source(tmp_path, packed(*ROWS, channels=4), masked=False)
    image, people = poses.item(poses.fetch(0))
    assert image.shape == (3, HEIGHT, WIDTH) and people[0, 1:, 2].tolist() == [1, 2, 2, 1]


def test_written_files_are_read_again(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    image = random.integers(0, 256, (3, 30, 40), np.uint8)
    people = random.uniform(1, 29, (3, 18, 3)).astype(np.float32)
    people[:, 1:, 2] = random.integers(0, 2, (3, 17))
    record = pb.Datum.FromString(pose_record(image, image[:2], people, "COCO"))
    poses = source(tmp_path, record, joints=17)
    pixels, mask, read = poses.item(poses.fetch(0))
    assert np.allclose(read, people, atol=1e-5) and (pixels[:, :, :40] == image).all()
    assert (pixels[:, :, 40:] == 128).all() and (mask[:, :, :40] == image[:1]).all() and pixels.shape[2] == 4 * 17
    assert (mask[:, :, 40:] == 0).all()


def test_an_image_too_small_for_its_people_is_not_written() -> None:
    with pytest.raises(DataError, match="an image of 12 rows has no room for 2 people, who need 13"):
        pose_record(np.zeros((3, 12, 80), np.uint8), np.zeros((0, 12, 80), np.uint8), np.ones((2, 5, 3)), "COCO")


def test_damaged_records_are_named(tmp_path: Path) -> None:
    lost = (*ROWS[:4], floats(0.75), floats(float("nan")))
    for number, (record, words) in enumerate([
        (packed(*ROWS, channels=4), "has 4 channels of uint8, but poses need 5 channels"),
        (packed(*ROWS[:4], floats(0)), "the scale of the person is impossible"),
        (packed(*lost), "the place of a joint"),
        (packed(*ROWS[:2], bytes([0, 200]), *ROWS[3:]), "its fourth channel is too small for the joints"),
        (packed(ROWS[0], height=1), "its fourth channel is too small"),
        (pb.Datum(channels=6, height=1, width=2, float_data=[0] * 12), "has 6 channels of float32"),
    ]):  # fmt: skip
        folder = tmp_path / str(number)
        folder.mkdir()
        poses = source(folder, record)
        with pytest.raises(DataError, match=f"record '0000000': .*{words}"):
            poses.item(poses.fetch(0))


def write_pose_database(path: Path, masks: int = 2) -> Path:
    people = np.array([[[10, 12, 0.5], [4, 5, 1], [20, 9, 0]], [[30, 12, 0.5], [-1, -1, 2], [-1, -1, 2]]])
    image, planes = np.full((3, 20, 64), 7, np.uint8), np.full((masks, 20, 64), 255, np.uint8)
    planes[:1, 3:8, 40:50] = 0
    write_records(path, [(b"0000000", pose_record(image, planes, people, "COCO"))])
    return path


def test_a_database_is_recognized_by_its_first_record(tmp_path: Path) -> None:
    path = write_pose_database(tmp_path / "poses")
    known, said = parse_source(str(path)), parse_source(f"poses:{path}")
    assert known == said and known.content is Content.MARKED_IMAGES
    assert known.form.is_database  # a net's own layer reads it
    assert parse_source(str(path), Content.ITEMS).kind == "lmdb"
    with lmdb_writer(tmp_path / "plain") as put:
        put(Example(0, "", (np.zeros((6, 20, 30), np.uint8), np.array(3))))
    assert parse_source(str(tmp_path / "plain")).content is Content.ITEMS


def test_people_have_cocos_numbers_and_the_mask_is_a_crowd(tmp_path: Path) -> None:
    first, other, crowd = open_annotated_set(f"poses:{write_pose_database(tmp_path / 'db')}?joints=2").image(0).objects
    assert first.joints == ((5, 6, 1), (21, 10, 0)) and first.edges == (5, 6, 21, 10)
    assert not other.has_joints and other.edges == (31, 13, 31, 13)
    assert crowd.crowd and crowd.edges == (40, 3, 50, 8) and crowd.runs is not None and crowd.runs.area == 50


def test_records_without_a_mask_are_read_too(tmp_path: Path) -> None:
    image = PoseSet(write_pose_database(tmp_path / "db", masks=0), joints=2).image(0)
    assert len(image.objects) == 2 and (image.height, image.width) == (20, 64)


def test_the_number_of_joints_is_checked(tmp_path: Path) -> None:
    path = write_pose_database(tmp_path / "db")
    with pytest.raises(DataError, match="can't have 0 joints; give their number"):
        PoseSet(path, joints=0)
    with pytest.raises(DataError, match="its fourth channel is too small for the joints"):
        PoseSet(path, joints=1000).image(0)
