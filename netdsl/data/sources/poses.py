"""Reads databases of CMU's pose nets: images of people and the joints of these people."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, Edges, Joint, MarkedObject, RunLengths
from netdsl.data.sources.annotations.masks import Mask, edges_of
from netdsl.data.sources.annotations.records import first_record_shows, open_records
from netdsl.data.sources.annotations.set_files import bounds
from netdsl.data.sources.class_names import BACKGROUND
from netdsl.data.sources.datum import DatumRecord, DatumSource
from netdsl.data.sources.source import Item
from netdsl.data.transforms.decode import opencv
from netdsl.data.transforms.mean import Pixels
from netdsl.data.transforms.pose_skeleton import Visibility
from netdsl.data.types import Array
from netdsl.errors import DataError

NUMBERS, MASK = 3, 4  # the channels after an image's three
# The rows of numbers; the first one contains the set's name.
SIZE, COUNTS, PLACE, SCALE, _JOINT_ROWS, OTHERS = (1, 2, 3, 4, 5, 8)

_FAR = 1e6  # pixels
_FLOAT = 4  # bytes
POSES = "poses"  # the kind in a name
JOINTS = 17  # of people in COCO
_MOST_JOINTS = 1 << 10
_PERSON = 1  # the label


class PoseDatumSource:
    """The images of a database, with rows of numbers for each person. The person that a record is about comes first.

    The rows contain x, y and scale of the person, and x, y and visibility of each joint, with (0, 0) at the center of
    the first pixel. A record is an image whose fourth channel contains the rows as bytes. With `masked`, its fifth
    channel is a mask, which becomes the second array of an item, and the first person's joints can be unknown.
    """

    def __init__(self, records: DatumSource, joints: int, *, masked: bool) -> None:
        self._records, self._joints, self._masked = records, joints, masked

    def __len__(self) -> int:
        return len(self._records)

    def fetch(self, index: int) -> DatumRecord:
        """Return one record."""
        return self._records.fetch(index)

    def item(self, fetched: DatumRecord) -> Item:
        """Return the image, its mask if there is one, and its people."""
        where = self._records.where(fetched)
        channels, _ = self._records.item(fetched)
        needed = 1 + (MASK if self._masked else NUMBERS)
        if len(channels) < needed or channels.dtype != np.uint8:
            raise DataError(
                f"{where}: the record has {len(channels)} channels of {channels.dtype}, but poses need {needed} "
                "channels of bytes; write the database with `zoo data convert coco:FILE.json poses:PATH`"
            )
        people = checked_people(self._people(_Rows(channels[NUMBERS], where)), where)
        mask = (channels[MASK : MASK + 1],) if self._masked else ()
        return channels[:NUMBERS], *mask, people

    def _people(self, rows: _Rows) -> Pixels:
        """Return the person whom the record is about, and then all others."""
        height, width = np.trunc(rows.floats(SIZE, 2))
        others = rows.byte(COUNTS, 1)
        people = np.empty((1 + others, 1 + self._joints, 3), np.float32)
        people[0, 0] = *rows.floats(PLACE, 2), *rows.floats(SCALE, 1)
        for number in range(others):
            people[1 + number, 0, :2] = rows.floats(OTHERS + number, 2)
        if others:
            people[1:, 0, 2] = rows.floats(OTHERS + others, others)
        for number in range(1 + others):
            begin = first_joint_row(number, others)
            people[number, 1:] = np.stack([rows.floats(begin + row, self._joints) for row in range(3)], axis=1)
        people[..., :2] -= 1  # records count pixels from 1
        marks = people[:, 1:, 2]
        unknown = (marks == Visibility.UNKNOWN) & (np.arange(1 + others)[:, None] == 0) & self._masked
        marks[...] = np.where(unknown, Visibility.UNKNOWN, _seen(people[:, 1:], (width, height)))
        return people

    def close(self) -> None:
        """Close the database."""
        self._records.close()


def first_joint_row(person: int, others: int) -> int:
    """Return the first of the three rows with a person's joints.

    The joints of other people follow the rows with their places and scales.
    """
    return _JOINT_ROWS if person == 0 else OTHERS + others + 1 + 3 * (person - 1)


def is_pose_record(channels: Array) -> bool:
    """Return whether the fourth channel states the image's size where a record with people does."""
    if len(channels) <= NUMBERS or channels.dtype != np.uint8:
        return False
    rows, width = channels[NUMBERS], channels.shape[2]
    size = rows[SIZE : SIZE + 1, : 2 * _FLOAT].tobytes()
    if len(size) < 2 * _FLOAT:
        return False
    said_height, said_width = np.frombuffer(size, "<f4")
    return bool(said_height == len(rows) and 0 < said_width <= width)


def checked_people(people: Pixels, where: str) -> Pixels:
    """Return people. Raises a `DataError` if a number is impossible for a joint, or if the first person has no size."""
    if not (np.abs(people) < _FAR).all() or people[0, 0, 2] <= 0:
        raise DataError(
            f"{where}: the place of a joint or the scale of the person is impossible; write the database again with "
            "`zoo data convert --skip-bad`, which leaves it out"
        )
    return people


class _Rows:
    """A channel of bytes whose rows contain numbers."""

    def __init__(self, channel: Array, where: str) -> None:
        self._width: int = channel.shape[1]
        self._bytes, self._where = channel.tobytes(), where

    def floats(self, row: int, count: int) -> Pixels:
        """Return the first numbers of a row. As in Caffe, they can continue in the next row."""
        begin = row * self._width
        self._check_end(begin + _FLOAT * count)
        return np.frombuffer(self._bytes, "<f4", count, begin)

    def byte(self, row: int, place: int) -> int:
        """Return a byte of a row."""
        self._check_end(row * self._width + place + 1)
        return int(self._bytes[row * self._width + place])

    def _check_end(self, end: int) -> None:
        if end > len(self._bytes):
            raise DataError(
                f"{self._where}: its fourth channel is too small for the joints of its people; the record is "
                "damaged, or np_in_lmdb isn't the number of joints of a person, so set it to that number"
            )


def _seen(joints: Pixels, size: tuple[float, float]) -> NDArray[np.int64]:
    outside = ((joints[..., :2] < 0) | (joints[..., :2] >= size)).any(-1)
    return np.where(outside, Visibility.OUTSIDE, np.where(joints[..., 2] == 0, Visibility.HIDDEN, Visibility.SHOWN))


class PoseSet:
    """The records of a database. Each is an image with the person that it is about, followed by all other people.

    Records state neither the number of joints of a person nor boxes. Boxes are drawn around the marked joints. Pixels
    that the mask excludes are a crowd.
    """

    first_pixel = 0
    classes = (BACKGROUND, "person")

    def __init__(self, path: str | Path, *, joints: int = JOINTS) -> None:
        if not 0 < joints <= _MOST_JOINTS:
            raise DataError(f"{path}: people can't have {joints} joints; give their number, as in joints={JOINTS}")
        self._records = open_records(Path(path))
        masked = len(self._records) > 0 and len(self._records.item(self._records.fetch(0))[0]) > MASK
        self._poses = PoseDatumSource(self._records, joints, masked=masked)

    def __len__(self) -> int:
        return len(self._records)

    def image(self, index: int) -> AnnotatedImage:
        """Return one image with its people."""
        fetched = self._records.fetch(index)
        pixels, *masks, people = self._poses.item(fetched)
        objects = [_person(rows) for rows in people] + [_crowd(mask[0] == 0) for mask in masks if not mask.all()]
        name = fetched.key.decode("ascii", "replace").replace("/", "_")
        data = bytes(opencv().imencode(".bmp", np.ascontiguousarray(pixels.transpose(1, 2, 0)))[1])
        _, height, width = pixels.shape
        return AnnotatedImage(name, self._records.path / name, height, width, tuple(objects), encoded=data)


def has_poses(path: Path) -> bool:
    """Return whether the path is a database whose first record contains people with joints."""
    return first_record_shows(path, lambda records: is_pose_record(_first_image(records)))


def _first_image(records: DatumSource) -> Array:
    return records.item(records.fetch(0))[0]


def _person(rows: Pixels) -> MarkedObject:
    """Return a person in a record, in COCO's numbers. The authors' converter treats COCO's numbers as if they counted
    from 1."""
    joints = tuple(Joint(x + 1, y + 1, Visibility(int(mark))) for x, y, mark in rows[1:].tolist())
    marked = [joint[:2] for joint in joints if joint.marked]
    x, y = (rows[0, :2] + 1).tolist()
    return MarkedObject(_PERSON, bounds(marked) if marked else Edges(x, y, x, y), joints=joints)


def _crowd(mask: Mask) -> MarkedObject:
    return MarkedObject(_PERSON, edges_of(mask), difficult=True, crowd=True, runs=RunLengths.of(mask))
