"""Videos: the frames of a file, and those that a camera shows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from netdsl.data.sources.file_errors import file_errors, regular_file
from netdsl.data.sources.source import Item
from netdsl.data.transforms.decode import image_limit, opencv, planes
from netdsl.data.types import Array
from netdsl.errors import DataError

VIDEO_ENDINGS = (".avi", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".webm")


class VideoFrame(NamedTuple):
    """A frame as height, width, channels in the order blue, green, red."""

    pixels: Array

    def item(self) -> Item:
        """The image, and the label 0, which Caffe-SSD gives every frame."""
        return planes(self.pixels), np.array(0, np.float32)


class VideoSource:
    """The frames of a video file; an item is a frame and the label 0. Before each, `skip_frames` are passed over.

    Frames are read in their order, and from the first one on after a step back: a file's own jumps may end at a
    neighbour of a frame, and then a training that is resumed would see others.
    """

    def __init__(self, path: str | Path, *, skip_frames: int = 0) -> None:
        self._path, self._step = regular_file(path), skip_frames + 1
        self._video, self._next = _open_video(self._path), 0
        cv2 = opencv()
        self._count = int(self._video.get(cv2.CAP_PROP_FRAME_COUNT))
        if self._count < 1:
            raise DataError(f"{path}: doesn't say how many frames it has; convert the video, for example to MP4")
        height, width = (int(self._video.get(each)) for each in (cv2.CAP_PROP_FRAME_HEIGHT, cv2.CAP_PROP_FRAME_WIDTH))
        image_limit().check_size(height, width, str(path))

    def __len__(self) -> int:
        return self._count // self._step

    def fetch(self, index: int) -> VideoFrame:
        """One frame."""
        number = (index + 1) * self._step - 1
        with file_errors(self._path, opencv().error):
            pixels = self._read(number)
        if pixels is None:
            raise DataError(
                f"{self._path}: has no frame {number}, though it says that it has {self._count}; it's damaged, or "
                "counts wrongly: convert it, or skip what can't be read"
            )
        return VideoFrame(pixels)

    def _read(self, number: int) -> Array | None:
        """A frame; None if the video ends before it."""
        if number < self._next:
            self._video.release()
            self._video, self._next = _open_video(self._path), 0
        while self._next < number and self._video.grab():
            self._next += 1
        if self._next < number:
            return None
        is_there, pixels = self._video.read()
        self._next += is_there
        return pixels if is_there else None

    def item(self, fetched: VideoFrame) -> Item:
        """The frame and its label."""
        return fetched.item()

    def close(self) -> None:
        """Close the file."""
        self._video.release()


class CameraSource:
    """What a camera shows, without an end; items are those of a video. What it has shown is gone.

    So its frames can only be asked for once, in their order and by one process. It is opened for the first of them.
    """

    live = True
    image_count = 1  # scene

    def __init__(self, device: int, *, skip_frames: int = 0) -> None:
        self.name = f"camera {device}"
        self._device, self._skipped, self._next = device, skip_frames, 0
        self._camera: Any = None

    def __len__(self) -> int:
        return sys.maxsize

    def fetch(self, index: int) -> VideoFrame:
        """The next frame."""
        if index != self._next:
            raise DataError(
                f"{self.name}: its frames are gone once they were shown, so nothing that reads it can be resumed, "
                "repeated or shared among processes; record a video, and name that"
            )
        if self._camera is None:
            self._camera = self._opened()
        for _ in range(self._skipped):
            self._camera.grab()
        is_there, pixels = self._camera.read()
        if not is_there:
            raise DataError(f"{self.name}: shows nothing any more; is it still connected?")
        self._next += 1
        return VideoFrame(pixels)

    def _opened(self) -> Any:
        with _quiet_opencv() as cv2:
            camera = cv2.VideoCapture(self._device)
        if not camera.isOpened():
            raise DataError(f"{self.name}: can't be opened; is it there, and does no other program use it?")
        return camera

    def item(self, fetched: VideoFrame) -> Item:
        """The frame and its label."""
        return fetched.item()

    def close(self) -> None:
        """Let others use the camera."""
        if self._camera is not None:
            self._camera.release()


def _open_video(path: Path) -> Any:
    """OpenCV's reader of a file. The whole path is given, so that none of it is taken for a protocol."""
    with _quiet_opencv() as cv2, file_errors(path, cv2.error):
        video = cv2.VideoCapture(str(path.resolve()), cv2.CAP_FFMPEG)
    if not video.isOpened():
        raise DataError(f"{path}: can't be opened as a video; it's damaged, or in a format that OpenCV doesn't know")
    return video


@contextmanager
def _quiet_opencv() -> Iterator[Any]:
    """OpenCV without its own words on standard error; errors say what is wrong."""
    cv2 = opencv()
    level = cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
    try:
        yield cv2
    finally:
        cv2.utils.logging.setLogLevel(level)
