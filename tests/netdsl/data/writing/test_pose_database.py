"""Writing people with joints in the format that CMU's pose nets read."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.reading import Loading
from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, Edges, Joint, MarkedObject
from netdsl.data.sources.annotations.drawn import DrawnPeople
from netdsl.data.sources.poses import PoseSet
from netdsl.data.sources.source import DataSplit
from netdsl.data.transforms.pose_skeleton import COCO, Visibility
from netdsl.data.writing.image_files import ImageFormat, encode
from netdsl.data.writing.pose_database import PeopleOfSet, PoseReport, write_poses
from netdsl.errors import DataError
from netdsl.net.graph import Phase
from tests.netdsl.layers import layer_batches
from tests.small_data import records_in

HEIGHT, WIDTH = 88, 96
JOINTS = tuple(Joint(8 * (n % 9) + 5, 8 * (n // 2) + 5, Visibility.SHOWN) for n in range(17))
NOBODY = (Joint(0, 0, Visibility.UNKNOWN),) * 17
WHOLE = Edges(0, 0, 80, 80)


class ListedPeople:
    """A set of images that a test defines."""

    classes, first_pixel = ("background", "dog", "person"), 0

    def __init__(self, *images: Sequence[MarkedObject], height: int = HEIGHT) -> None:
        self._images, self._height = images, height

    def __len__(self) -> int:
        return len(self._images)

    def image(self, index: int) -> AnnotatedImage:
        pixels = np.full((3, self._height, WIDTH), 10 * index, np.uint8)
        data, objects = encode(pixels, ImageFormat.PNG, ""), tuple(self._images[index])
        return AnnotatedImage(str(index), Path(f"{index}.png"), self._height, WIDTH, objects, encoded=data)


def person(edges: Edges = WHOLE, marked: int = 17, **settings: object) -> MarkedObject:
    return replace(MarkedObject(2, edges, joints=JOINTS[:marked] + NOBODY[marked:]), **settings)  # type: ignore[arg-type]


def write(path: Path, pictures: ListedPeople, seed: int | None = None, *, skip_bad: bool = False) -> PoseReport:
    return write_poses(PeopleOfSet(pictures, skip_bad=skip_bad), path, seed, skip_bad=skip_bad)


def records(path: Path) -> dict[bytes, np.ndarray]:
    """Return the channels of records by key."""
    read = {key: pb.Datum.FromString(value) for key, value in records_in(path)}
    return {
        key: np.frombuffer(datum.data, np.uint8).reshape(datum.channels, datum.height, datum.width)
        for key, datum in read.items()
    }


def row(channels: np.ndarray, number: int, count: int) -> list[float]:
    return list(struct.unpack_from(f"<{count}f", channels[3, number].tobytes()))


def test_a_record_has_the_numbers_of_the_authors_script(tmp_path: Path) -> None:
    """The expected numbers are worked out by hand from the rules of genJSON.m and genLMDB.py."""
    hidden = (Joint(3, 4, Visibility.HIDDEN), *JOINTS[1:6], *NOBODY[6:])
    first = person(Edges(10, 20, 31, 70), joints=hidden, area=2000)
    second = person(Edges(50, 2, 90, 40.5), marked=1)
    report = write(tmp_path / "db", ListedPeople([first, second]))
    assert (report.written, report.joints, report.beside, report.bad) == (1, 17, 1, [])
    ((key, channels),) = records(tmp_path / "db").items()
    assert key == b"0000000" and channels.shape == (6, HEIGHT, WIDTH)
    assert channels[3, 0].tobytes().startswith(b"COCO\0") and row(channels, 1, 2) == [HEIGHT, WIDTH]
    assert channels[3, 2, 1] == 1 and row(channels, 3, 2) == [20.5, 45]
    assert row(channels, 4, 1) == [np.float32(0.136)]  # 50 / 368 in three decimals
    assert row(channels, 5, 17) == [3, 13, 21, 29, 37, 45, *[0] * 11]
    assert row(channels, 6, 17) == [4, 5, 13, 13, 21, 21, *[0] * 11]
    assert row(channels, 7, 17) == [0, 1, 1, 1, 1, 1, *[2] * 11]
    assert row(channels, 8, 2) == [70, 21.25] and row(channels, 9, 1) == [np.float32(0.105)]
    assert row(channels, 10, 2) == [5, 0] and row(channels, 12, 2) == [1, 2]


@pytest.mark.parametrize(
    ("people", "written"),
    [
        ([person(marked=5)], 1),
        ([person(marked=4)], 0),
        ([person(area=1024.0)], 1),
        ([person(area=1023.0)], 0),
        ([person(Edges(0, 0, 31, 33))], 0),
        ([person(), person(Edges(0, 0, 80, 32))], 2),  # its center is 24 away, three tenths of 80
        ([person(), person(Edges(0, 0, 80, 33))], 1),
        ([person(Edges(0, 0, 80, 33)), person()], 1),
        ([person(), person(Edges(20, 0, 60, 33))], 1),
        ([person(Edges(20, 0, 60, 33)), person()], 2),  # the first person's box counts
        ([person(area=9.0), person()], 1),
        ([person(joints=())], 0),
    ],
)
def test_people_with_enough_joints_and_size_get_a_record(
    tmp_path: Path, people: list[MarkedObject], written: int
) -> None:
    report = write(tmp_path / "db", ListedPeople([person()], people))
    assert report.written == 1 + written
    assert report.beside == sum(marked.has_joints for marked in people) - written


def test_people_without_joints_are_masked_out(tmp_path: Path) -> None:
    left, right = Edges(0, 0, 40, 80), Edges(30, 0, 60, 88)
    square = tuple((float(x), float(y)) for x, y in ((70, 10), (90, 10), (90, 30), (70, 30)))
    unmarked = MarkedObject(2, Edges(60, 0, 96, 40), outlines=(square,), joints=NOBODY)
    crowd, dog = MarkedObject(2, right, crowd=True), MarkedObject(1, Edges(0, 80, 20, 88))
    write(tmp_path / "db", ListedPeople([person(left), crowd, unmarked, dog]))
    (channels,) = records(tmp_path / "db").values()
    known = np.full((HEIGHT, WIDTH), 255)
    known[:, 40:60], known[80:, 30:40], known[10:30, 70:90] = 0, 0, 0
    assert (channels[4] == known).all()
    people = np.zeros((HEIGHT, WIDTH))
    people[:80, :40], people[:, 30:60], people[10:30, 70:90] = 255, 255, 255
    assert (channels[5] == people).all()


def test_the_layer_draws_joints_where_coco_has_them(tmp_path: Path) -> None:
    left = Edges(60, 0, 96, 24)
    write(tmp_path / "db", ListedPeople([person(), MarkedObject(2, left, joints=NOBODY)]))
    layer = (
        f"layer {{ name: 'd' type: 'CPMData' top: 'data' top: 'label' data_param {{ source: '{tmp_path / 'db'}' "
        "batch_size: 1 backend: LMDB } cpm_transform_param { stride: 8 num_parts: 56 np_in_lmdb: 17 sigma: 4 } }"
    )
    ((_, label),) = layer_batches.batches(layer, Loading(workers=1, seed=0), 1, phase=Phase.TEST)
    weights, limbs, joints = label[0, :57], label[0, 57:95], label[0, 95:113]
    for number, (first, second) in enumerate(zip(*COCO.joints, strict=True)):
        x, y = ((JOINTS[first][axis] + JOINTS[second][axis]) / 2 for axis in (0, 1))
        place = np.unravel_index(joints[number].argmax(), joints[number].shape)
        assert place == (int(y) // 8, int(x) // 8) and joints[number].max() > 0.4
    assert np.hypot(*limbs[0:2]).max() == pytest.approx(1)
    assert weights[0, 0, 0] == 1 and weights[0, 1, 10] == 0 and weights[0, 8, 10] == 1


def test_records_are_shuffled_and_bad_images_are_left_out(tmp_path: Path) -> None:
    pictures = ListedPeople(*([person()] for _ in range(8)))
    write(tmp_path / "straight", pictures)
    write(tmp_path / "shuffled", pictures, seed=1)
    straight, shuffled = (
        [int(channels[0, 0, 0]) // 10 for channels in records(tmp_path / name).values()]
        for name in ("straight", "shuffled")
    )
    assert straight == list(range(8)) != shuffled and sorted(shuffled) == straight
    bad = ListedPeople([person()], [person(joints=JOINTS[:16])], [person(Edges(0, 0, 4e6, 80))], [person()])
    report = write(tmp_path / "bad", bad, skip_bad=True)
    assert report.written == 2 and list(records(tmp_path / "bad")) == [b"0000000", b"0000002"]
    assert "1.png: a person has 16 joints, but others have 17" in report.bad[0]
    assert "2.png: the place of a joint or the scale" in report.bad[1]
    with pytest.raises(DataError, match=r"1\.png: a person has 16"):
        write(tmp_path / "strict", bad)
    with pytest.raises(DataError, match=r"0\.png: the place of a joint"):
        write(tmp_path / "strict", ListedPeople([person(Edges(0, 0, 4e6, 80))]))
    assert not (tmp_path / "strict").exists()


def test_too_small_images_and_sets_without_people_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"0\.png: an image of 12 rows has no room for 2 people, who need 13"):
        write(tmp_path / "db", ListedPeople([person(), person()], height=12))
    with pytest.raises(DataError, match="no person has 5 joints and 1,024 pixels"):
        write(tmp_path / "db", ListedPeople([MarkedObject(2, WHOLE)]))


def test_written_records_are_read_as_a_set(tmp_path: Path) -> None:
    drawn = DrawnPeople(DataSplit.TRAIN, count=12)
    people = PeopleOfSet(drawn)
    write_poses(people, tmp_path / "db")
    read = PoseSet(tmp_path / "db")
    assert len(read) == len(people) > 10 and read.classes == drawn.classes
    for index in range(len(people)):
        image, place = people.fetch(index)
        again = read.image(index)
        first, *others = again.objects
        assert first.joints == tuple(
            joint if min(joint.x, joint.y) > 0 else joint._replace(visibility=Visibility.OUTSIDE)
            for joint in image.objects[place].joints
        )
        marked = [joint[:2] for joint in first.joints if joint.marked]
        assert first.edges[:2] == tuple(np.min(marked, axis=0)) and first.edges[2:] == tuple(np.max(marked, axis=0))
        unmarked = [marked for marked in image.objects if not marked.has_joints]
        assert [marked.crowd for marked in others].count(True) == bool(unmarked)
        assert sum(marked.has_joints for marked in others) == len(image.objects) - len(unmarked) - 1
