"""Writes databases for CMU's pose nets from images of people with joints: a record for each person to learn from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from math import hypot
from pathlib import Path

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, AnnotatedSet, MarkedObject
from netdsl.data.sources.annotations.masks import object_masks, pixels_inside
from netdsl.data.sources.poses import COUNTS, NUMBERS, OTHERS, PLACE, SCALE, SIZE, checked_people, first_joint_row
from netdsl.data.transforms.decode import Color
from netdsl.data.transforms.mean import Pixels
from netdsl.data.transforms.pose_skeleton import Visibility
from netdsl.data.types import Array
from netdsl.data.writing.annotated_sets import pixels_of
from netdsl.data.writing.databases import lmdb_records
from netdsl.data.writing.map_items import map_items, writing_order
from netdsl.data.writing.sample_files import as_pixels
from netdsl.data.writing.target import new_path
from netdsl.errors import DataError

_LEAST_WIDTH = 64  # of an image; narrower images have no room for the numbers
_GRAY, _COUNTS_END = 128, 15
_MOST_OTHERS = 255
# The authors' rules for the people that get records, and for their numbers.
_LEAST_JOINTS, _LEAST_AREA = 5, 32 * 32
_APART = 0.3  # no other record's person may be this close, as a share of the longer side of the box
_HEIGHT = 368  # the height in pixels of a person of scale 1
_DECIMALS = 3
_DATASET = "COCO"


def pose_record(image: Array, masks: Array, people: Pixels, dataset: str, *, number: int = 0, total: int = 1) -> bytes:
    """Return the record of an image and any number of masks as channels, with the first person and all others.

    The rows of people have the form of `PoseDatumSource`. If an image has no room for their numbers, it is padded with
    gray, which its masks exclude.
    """
    _, height, width = image.shape
    joints, others = people.shape[1] - 1, len(people) - 1
    rows = OTHERS + (1 + 4 * others if others else 0)
    if others > _MOST_OTHERS or height < rows:
        raise DataError(
            f"an image of {height} rows has no room for {1 + others} people, who need {rows}; enlarge the image "
            "to this height"
        )
    wide = max(width, _LEAST_WIDTH, 4 * joints, 4 * others)
    channels = [_widened(image, wide, _GRAY), _numbers(people, (height, width), wide, dataset, number, total)]
    values = np.concatenate([*channels, _widened(masks, wide, 0)])
    datum = pb.Datum(channels=len(values), height=height, width=wide, data=values.tobytes(), label=0)
    return datum.SerializeToString()


def _widened(planes: Array, width: int, fill: int) -> Array:
    return np.pad(planes, ((0, 0), (0, 0), (0, width - planes.shape[2])), constant_values=fill)


def _numbers(people: Pixels, size: tuple[int, int], width: int, dataset: str, number: int, total: int) -> Array:
    """Return the channel that contains the numbers."""
    rows = np.zeros((1, size[0], width), np.uint8)
    others, stored = len(people) - 1, (people + np.array([1, 1, 0])).astype("<f4")
    _put(rows, 0, np.frombuffer(dataset.encode()[: width - 1], np.uint8))
    _put(rows, SIZE, np.array(size, "<f4"))
    rows[0, COUNTS, 1] = others
    rows[0, COUNTS, 7:_COUNTS_END] = np.array([number, total], "<f4").view(np.uint8)
    _put(rows, PLACE, stored[0, 0, :2])
    _put(rows, SCALE, stored[0, 0, 2:])
    for person in range(others):
        _put(rows, OTHERS + person, stored[1 + person, 0, :2])
    _put(rows, OTHERS + others, stored[1:, 0, 2])
    for person, joints in enumerate(stored[:, 1:]):
        for row, values in enumerate(joints.T, first_joint_row(person, others)):
            _put(rows, row, values)
    return rows


def _put(rows: Array, row: int, values: Array) -> None:
    data = np.frombuffer(values.tobytes(), np.uint8)
    if len(data):
        rows[0, row, : len(data)] = data


def pose_samples(images: Iterable[Array], *, joints: int, scale: float, masked: bool) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and records of images with values around zero. Each image has a person whose joints are on a
    circle."""
    angles = 2 * np.pi * np.arange(joints) / joints
    for index, image in enumerate(images):
        _, height, width = image.shape
        middle, circle = np.array([width, height]) / 2, np.stack([np.cos(angles), np.sin(angles)], axis=1)
        person = np.ones((1, 1 + joints, 3), np.float32)
        person[0, 0] = *middle, scale
        person[0, 1:, :2] = middle + circle * min(height, width) / 4
        pixels = np.pad(as_pixels(image[:NUMBERS]), ((0, 0), (0, max(0, OTHERS - height)), (0, 0)))
        masks = np.full((2 if masked else 0, *pixels.shape[1:]), 255, np.uint8)
        yield f"{index:07}".encode(), pose_record(pixels, masks, person, "made up", number=index)


@dataclass(frozen=True)
class PoseReport:
    """The number of records, the number of joints of each person, and the errors of skipped images.

    `beside` is the number of people with joints who don't have a record.
    """

    written: int
    joints: int
    beside: int
    bad: list[str]


class PeopleOfSet:
    """The people of a set who get a record.

    By the authors' rule, a person has at least 5 marked joints and 32 x 32 pixels, and isn't in the center of an
    earlier person. An item is the image, and the person's place among its objects.
    """

    def __init__(
        self, source: AnnotatedSet, *, skip_bad: bool = False, done: Callable[[], object] = lambda: None
    ) -> None:
        self._set = source
        self._places, self._labels = list[tuple[int, int]](), set[int]()
        self.joints, self.marked, self.bad = 0, 0, list[str]()
        for index in range(len(source)):
            done()
            try:
                self._add(index, source.image(index))
            except DataError as problem:
                if not skip_bad:
                    raise
                self.bad.append(str(problem))

    def _add(self, index: int, image: AnnotatedImage) -> None:
        people = [marked for marked in image.objects if marked.joints]
        for marked in people:
            self.joints = self.joints or len(marked.joints)
            if len(marked.joints) != self.joints:
                raise DataError(
                    f"{image.path}: a person has {len(marked.joints)} joints, but others have {self.joints}; "
                    "give every person the same number, with 0, 0, 0 for unknown joints"
                )
        self._places += [(index, place) for place in _main_people(image)]
        self._labels |= {marked.label for marked in people}
        self.marked += sum(marked.has_joints for marked in people)

    def __len__(self) -> int:
        return len(self._places)

    def fetch(self, index: int) -> tuple[AnnotatedImage, int]:
        """Return the image of a person, and the person's place among its objects."""
        image, place = self._places[index]
        return self._set.image(image), place

    def record(self, number: int, fetched: tuple[AnnotatedImage, int]) -> bytes:
        """Return the record of a person, including all other people with joints in the image."""
        image, place = fetched
        others = [marked for other, marked in enumerate(image.objects) if other != place and marked.has_joints]
        rows = np.stack([_person_rows(marked) for marked in (image.objects[place], *others)])
        people = checked_people(rows, str(image.path))
        pixels, masks = pixels_of(image, image.read(), Color.COLOR), self._masks(image)
        try:
            return pose_record(pixels, masks, people, _DATASET, number=number, total=len(self))
        except DataError as problem:
            raise DataError(f"{image.path}: {problem}") from None

    def _masks(self, image: AnnotatedImage) -> Array:
        """Return a mask of the places where all people have joints, and a mask of all people.

        The first mask excludes people without joints. It also excludes crowds, except where people with joints are in
        front of them.
        """
        known, missing, crowds = np.zeros((3, image.height, image.width), bool)
        for marked, mask in zip(image.objects, object_masks(image), strict=True):
            if marked.label in self._labels:
                part = crowds if marked.crowd else known if marked.has_joints else missing
                part[pixels_inside(marked.edges) if mask is None else mask] = True
        masks = np.stack([~(missing | (crowds & ~known)), known | missing | crowds])
        return masks * np.uint8(255)


def write_poses(
    people: PeopleOfSet,
    path: Path,
    seed: int | None = None,
    *,
    skip_bad: bool = False,
    done: Callable[[], object] = lambda: None,
) -> PoseReport:
    """Write a record for each person into a new LMDB. On an error, nothing is written. With a seed, the order is
    random."""
    if not len(people):
        raise DataError(
            f"{path}: no person has {_LEAST_JOINTS} joints and {_LEAST_AREA:,} pixels, so there is nothing to "
            "write; name a set with larger people, whose keypoints and areas are known"
        )
    order = writing_order(len(people), seed)
    bad, written = list(people.bad), 0
    with (
        new_path(path) as folder,
        lmdb_records(folder) as put,
        closing(map_items(people, order.tolist(), people.record)) as records,
    ):
        for position, record in enumerate(records):
            done()
            if isinstance(record, bytes):
                put(f"{position:07}".encode(), record)
                written += 1
            elif skip_bad:
                bad.append(str(record))
            else:
                raise record
        if not written:
            raise DataError(
                f"all images with people are bad; the first problem is: {bad[0]}; mend this item to see whether "
                "the others are like it"
            )
    return PoseReport(written, people.joints, people.marked - len(people), bad)


def _main_people(image: AnnotatedImage) -> list[int]:
    """Return the places of the people who get records, among the objects of an image."""
    places, taken = list[int](), list[tuple[float, float, float]]()
    for place, marked in enumerate(image.objects):
        x, y, width, height = _middle_and_sides(marked)
        area = width * height if marked.area is None else marked.area
        if sum(joint.marked for joint in marked.joints) < _LEAST_JOINTS or area < _LEAST_AREA:
            continue
        if any(hypot(x - its_x, y - its_y) < radius for its_x, its_y, radius in taken):
            continue
        places.append(place)
        taken.append((x, y, _APART * max(width, height)))
    return places


def _middle_and_sides(marked: MarkedObject) -> tuple[float, float, float, float]:
    """Return the center of a person's box, its width and its height."""
    left, top, right, bottom = marked.edges
    return (left + right) / 2, (top + bottom) / 2, right - left, bottom - top


def _person_rows(marked: MarkedObject) -> Pixels:
    """Return the rows of a person. The authors treat COCO's numbers, which count from 0, as if they counted from 1.

    So an unmarked joint, which COCO puts at (0, 0), is outside the image.
    """
    x, y, _, height = _middle_and_sides(marked)
    joints = [
        (joint.x, joint.y, joint.visibility) if joint.marked else (0, 0, Visibility.OUTSIDE) for joint in marked.joints
    ]
    rows: Pixels = np.round(np.array([(x, y, height / _HEIGHT), *joints]), _DECIMALS) - np.array([1, 1, 0])
    return rows
