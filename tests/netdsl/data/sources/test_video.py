"""Frames of video files and cameras."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from netdsl.data.batches.batches import Batches
from netdsl.data.batches.reading import Loading, Reading
from netdsl.data.sources.open_source import open_source
from netdsl.data.sources.video import CameraSource, VideoSource
from netdsl.data.transforms.decode import Color, image_limit, opencv
from netdsl.errors import DataError

pytest.importorskip("cv2")
cv2 = opencv()

COUNT, HEIGHT, WIDTH = 11, 16, 24


def frame(index: int, height: int = HEIGHT, width: int = WIDTH) -> np.ndarray:
    random = np.random.default_rng(index)
    return random.integers(0, 256, (height, width, 3), dtype=np.uint8)


def write_video(path: str, codec: str = "FFV1", count: int = COUNT, height: int = HEIGHT, width: int = WIDTH) -> None:
    writer = cv2.VideoWriter(path, cv2.CAP_FFMPEG, cv2.VideoWriter_fourcc(*codec), 25, (width, height))
    assert writer.isOpened()
    for index in range(count):
        writer.write(frame(index, height, width))
    writer.release()


@pytest.fixture(autouse=True)
def video(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_video("v.avi")


@pytest.fixture
def source() -> Iterator[VideoSource]:
    with closing(VideoSource("v.avi")) as opened:
        yield opened


def shown(source: VideoSource, index: int) -> np.ndarray:
    return source.item(source.fetch(index))[0]


def test_items_are_frames_in_blue_green_red(source: VideoSource) -> None:
    assert len(source) == COUNT
    for index in range(COUNT):
        image, label = source.item(source.fetch(index))
        assert np.array_equal(image, frame(index).transpose(2, 0, 1)) and (label, label.shape) == (0, ())


@pytest.mark.parametrize("codec", ["FFV1", "XVID"])
def test_a_frame_does_not_depend_on_earlier_reads(codec: str) -> None:
    write_video("x.avi", codec, 40)
    with closing(VideoSource("x.avi")) as one, closing(VideoSource("x.avi")) as other:
        in_order = [shown(one, index) for index in range(40)]
        for index in (17, 18, 5, 39, 0, 38, 38):
            assert np.array_equal(shown(other, index), in_order[index])


def test_frames_are_skipped_between_those_that_are_read() -> None:
    with closing(VideoSource("v.avi", skip_frames=2)) as source:
        assert len(source) == COUNT // 3
        assert all(np.array_equal(shown(source, index), frame(3 * index + 2).transpose(2, 0, 1)) for index in (0, 2, 1))


def test_batches_start_at_any_place_and_wrap_around(source: VideoSource) -> None:
    batches = Batches(Reading(source, 4), Loading(workers=2))
    batches.seek(2)
    (images, labels) = next(batches)
    assert np.array_equal(images, np.stack([frame(at).transpose(2, 0, 1) for at in (8, 9, 10, 0)]))
    assert labels.tolist() == [0] * 4
    batches.close()


def test_a_video_is_a_data_set_by_its_name() -> None:
    with closing(open_source("v.avi", color=Color.GRAY)) as source:
        assert (len(source), source.item(source.fetch(3))[0].shape) == (COUNT, (1, HEIGHT, WIDTH))


def test_a_video_that_ends_too_early_is_reported(source: VideoSource) -> None:
    data = Path("v.avi").read_bytes()
    Path("cut.avi").write_bytes(data[: len(data) * 2 // 3])
    with closing(VideoSource("cut.avi")) as cut:
        assert len(cut) == COUNT
        assert np.array_equal(shown(cut, 1), shown(source, 1))
        for _ in range(2):
            with pytest.raises(DataError, match=r"cut.avi: the file has no frame 10, although it claims 11"):
                cut.fetch(10)
        assert np.array_equal(shown(cut, 1), shown(source, 1))


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("gone.mp4", None, "gone.mp4: "),
        ("text.mp4", b"no video\n" * 99, "text.mp4: the video can't be opened"),
        ("empty.avi", b"", "empty.avi: the video can't be opened"),
        ("folder", None, "folder: "),
    ],
)
def test_a_file_that_is_not_a_video_is_reported_without_other_output(
    name: str, data: bytes | None, why: str, capfd: pytest.CaptureFixture[str]
) -> None:
    if data is not None:
        Path(name).write_bytes(data)
    Path("folder").mkdir()
    with pytest.raises(DataError, match=why):
        VideoSource(name)
    assert capfd.readouterr() == ("", "")


def test_frames_that_are_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_limit(), "pixels", HEIGHT * WIDTH - 1)
    with pytest.raises(DataError, match=r"v.avi: the image has 384 pixels, more than the limit of 383"):
        VideoSource("v.avi")


def test_an_image_that_claims_to_be_a_video_has_no_number_of_frames() -> None:
    cv2.imwrite("image.png", frame(0))
    Path("image.png").rename("image.mp4")
    with pytest.raises(
        DataError, match=r"image.mp4: (the file doesn't state its number of frames|the video can't be opened)"
    ):
        VideoSource("image.mp4")


def test_a_missing_camera_is_reported(capfd: pytest.CaptureFixture[str]) -> None:
    with (
        closing(CameraSource(9876)) as camera,
        pytest.raises(DataError, match="camera 9876: the camera can't be opened; check"),
    ):
        camera.fetch(0)
    assert capfd.readouterr() == ("", "")


def test_a_cameras_earlier_frames_cannot_be_read(source: VideoSource, monkeypatch: pytest.MonkeyPatch) -> None:
    open_capture = cv2.VideoCapture
    monkeypatch.setattr(cv2, "VideoCapture", lambda device: open_capture("v.avi", cv2.CAP_FFMPEG))
    camera = CameraSource(0, skip_frames=1)
    assert [np.array_equal(camera.item(camera.fetch(index))[0], shown(source, 2 * index + 1)) for index in range(3)]
    for index in (0, 2, 4):
        with pytest.raises(DataError, match="camera 0: its frames can be read only once, so"):
            camera.fetch(index)
    camera.close()
    with pytest.raises(DataError, match="camera 0: the camera sends no more frames"):
        camera.fetch(3)
