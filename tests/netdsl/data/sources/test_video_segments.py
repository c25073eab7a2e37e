"""TSN's stacks of frames from segments of videos."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netdsl.data.sources.video import VideoList, VideoSegmentSource
from netdsl.errors import DataError

cv2 = pytest.importorskip("cv2")

FRAMES, HEIGHT, WIDTH = 23, 6, 8


@pytest.fixture(autouse=True)
def _videos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write two videos whose frames encode their number: blue across, green down plus 100, red plus 200."""
    monkeypatch.chdir(tmp_path)
    for name in ("long", "a short one"):
        Path(name).mkdir()
        for number in range(1, FRAMES + 1):
            image = np.full((HEIGHT, WIDTH, 3), (number, 100 + number, 200 + number), np.uint8)
            cv2.imwrite(f"{name}/image_{number:04}.jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 100])
            cv2.imwrite(f"{name}/frame{number}.png", image)
            for kind, value in (("x", number), ("y", 100 + number)):
                cv2.imwrite(f"{name}/flow_{kind}_{number:04}.jpg", np.full((HEIGHT, WIDTH), value, np.uint8))
                cv2.imwrite(f"{name}/{kind}-{number}.png", np.full((HEIGHT, WIDTH), value, np.uint8))
    Path("list.txt").write_text(f"long {FRAMES} 7\na short one 8 2\n")


PATTERNS = {False: "frame%d.png", True: "%c-%d.png"}


def stacks(count: int = 2, *, train: bool = False, shuffle: bool = False, seed: int = 0, **videos: object):
    what = VideoList(**{"path": "list.txt", "pattern": PATTERNS[bool(videos.get("flow"))]} | videos)
    source = VideoSegmentSource(what, train=train, shuffle=shuffle, seed=seed)
    return [source.item(source.fetch(index)) for index in range(count)]


def values(stack: np.ndarray) -> list[int]:
    assert all(len(np.unique(plane)) == 1 for plane in stack) and stack.shape[1:] == (HEIGHT, WIDTH)
    return [int(plane[0, 0]) for plane in stack]


def test_tests_use_the_middle_of_each_segment() -> None:
    (long, first), (short, second) = stacks(segments=3, length=2)
    frames = [1 + (7 - 2 + 1) // 2 + 7 * segment + each for segment in range(3) for each in range(2)]
    assert values(long) == [frame + color for frame in frames for color in (0, 100, 200)]
    assert values(short)[::3] == [1, 2, 3, 4, 5, 6] and (float(first), float(second)) == (7, 2)


def test_each_frame_of_a_flow_has_horizontal_then_vertical_motion() -> None:
    ((flows, _),) = stacks(1, segments=2, length=3, flow=True)
    frames = [1 + (11 - 3 + 1) // 2 + 11 * segment + each for segment in range(2) for each in range(3)]
    assert values(flows) == [frame + kind for frame in frames for kind in (0, 100)]


def test_segments_that_are_too_short_begin_with_the_first_frame() -> None:
    for train in (False, True):
        assert values(stacks(segments=3, length=3, train=train)[1][0])[::3] == [1, 2, 3] * 3


def test_training_begins_anywhere_in_each_segment() -> None:
    drawn = [values(stack)[::3] for stack, _ in stacks(200, segments=3, length=2, train=True)[::2]]
    for segment in range(3):
        pairs = {(first, second) for first, second in (each[2 * segment : 2 * segment + 2] for each in drawn)}
        assert pairs == {(first, first + 1) for first in range(1 + 7 * segment, 7 + 7 * segment)}
    assert len({tuple(each) for each in drawn}) > 50


def test_an_item_depends_on_its_seed_and_its_place() -> None:
    what = VideoList("list.txt", 3, 2, pattern=PATTERNS[False])
    one, same, other = (VideoSegmentSource(what, train=True, shuffle=True, seed=seed) for seed in (4, 4, 5))
    in_order = [one.fetch(index) for index in range(20)]
    assert [same.fetch(index) for index in reversed(range(20))] == in_order[::-1]
    assert [other.fetch(index) for index in range(20)] != in_order


def test_every_epoch_has_each_video_once_in_its_own_order() -> None:
    labels = [float(label) for _, label in stacks(40, shuffle=True)]
    epochs = [tuple(labels[start : start + 2]) for start in range(0, 40, 2)]
    assert set(epochs) == {(2.0, 7.0), (7.0, 2.0)}


@pytest.mark.parametrize(("flow", "first"), [(False, [12, 112, 212]), (True, [12, 112])])
def test_without_a_pattern_names_are_as_in_tsn(flow: bool, first: list[int]) -> None:
    ((stack, _),) = stacks(1, pattern="", flow=flow)
    assert [round(float(plane.mean())) for plane in stack] == pytest.approx(first, abs=2)


def test_frames_are_converted_to_gray_and_resized_on_request() -> None:
    ((stack, _),) = stacks(1, color=False, size=(3, 5), segments=2)
    assert (stack.shape, stack.dtype) == ((2, 3, 5), np.uint8)
    ((flow, _),) = stacks(1, flow=True, size=(3, 5))
    assert flow.shape == (2, 3, 5)


@pytest.mark.parametrize(
    ("line", "videos", "why"),
    [
        ("long 23", {}, "list.txt:1: 'long 23' isn't 'folder frames label'"),
        ("long many 2", {}, "list.txt:1: 'long many 2' isn't"),
        ("long 0 2", {}, "list.txt:1: a video can't have 0 frames"),
        ("", {}, "list.txt: the list is empty"),
        ("nowhere 9 2", {}, "nowhere/frame5.png"),
        ("long 99 2", {"segments": 3}, "long/frame50.png"),
        (
            "mixed 2 2",
            {"length": 2},
            r"mixed/frame2.png: the frame is \(3, 3\), but the first frame is \(6, 8\); set new_height",
        ),
        ("long 9 2", {"segments": 0}, "num_segments is 0 and new_length 1"),
        (
            "long 9 2",
            {"pattern": "image.png"},
            "name_pattern 'image.png' doesn't have the placeholders of frames; write it like 'image_%04d.jpg'",
        ),
        ("long 9 2", {"pattern": "%999999d.png"}, "doesn't have the placeholders"),
        ("long 9 2", {"pattern": "%s%d.png"}, "doesn't have the placeholders"),
        (
            "long 9 2",
            {"pattern": "%d.png", "flow": True},
            "doesn't have the placeholders of frames; write it like 'flow_%c_%04d.jpg'",
        ),
    ],
)
def test_unreadable_files_are_reported(line: str, videos: dict[str, object], why: str) -> None:
    Path("mixed").mkdir()
    cv2.imwrite("mixed/frame1.png", np.zeros((6, 8, 3), np.uint8))
    cv2.imwrite("mixed/frame2.png", np.zeros((3, 3, 3), np.uint8))
    Path("list.txt").write_text(f"{line}\n")
    with pytest.raises(DataError, match=why):
        stacks(1, **videos)
