"""Videos: the frames of a file, and clips of the files in a list."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from caffe_proto.limits import Limit
from caffe_proto.whole_numbers import INT32, whole_number
from netdsl.data.sources.files import file_errors, listed_lines, read_bytes, regular_file
from netdsl.data.sources.order import Order
from netdsl.data.sources.source import Item
from netdsl.data.transforms.decode import Color, decode, image_limit, opencv, planes, resize
from netdsl.data.types import Array
from netdsl.errors import DataError

VIDEO_ENDINGS = (".avi", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".webm")
_IMAGES, _FLOW = "image_%04d.jpg", "flow_%c_%04d.jpg"  # TSN's names of frames
_TEXT, _NUMBER = r"(?:[^%]|%%)*", r"%0?\d?\d?[diu]"  # parts of a name in printf's format
_ACROSS_AND_DOWN = ("x", "y")
_OFFSETS = 1  # separates the random offsets from the other random numbers of an item


class VideoFrame(NamedTuple):
    """A frame as height, width, channels in the order blue, green, red."""

    pixels: Array

    def item(self) -> Item:
        """Return the image, and the label 0, which Caffe-SSD uses for every frame."""
        return planes(self.pixels), np.array(0, np.float32)


class VideoSource:
    """The frames of a video file. An item is a frame and the label 0. `skip_frames` are skipped before each frame.

    Frames are read in order. After a step back, reading starts at the first frame, because a file's own seeking can end
    at a neighboring frame, and a resumed training would then see other frames.
    """

    def __init__(self, path: str | Path, *, skip_frames: int = 0) -> None:
        self._path, self._step = regular_file(path), skip_frames + 1
        self._video, self._next = _open_video(self._path), 0
        cv2 = opencv()
        self._count = int(self._video.get(cv2.CAP_PROP_FRAME_COUNT))
        if not 1 <= self._count <= INT32[1]:
            raise DataError(
                f"{path}: the file doesn't state its number of frames; convert the video, as with `ffmpeg -i "
                "FILE video.mp4`"
            )
        height, width = (int(self._video.get(each)) for each in (cv2.CAP_PROP_FRAME_HEIGHT, cv2.CAP_PROP_FRAME_WIDTH))
        image_limit().check_size(height, width, str(path))

    def __len__(self) -> int:
        return self._count // self._step

    def fetch(self, index: int) -> VideoFrame:
        """Return one frame."""
        number = (index + 1) * self._step - 1
        with file_errors(self._path, opencv().error):
            pixels = self._read(number)
        if pixels is None:
            raise DataError(
                f"{self._path}: the file has no frame {number}, although it claims {self._count} frames; "
                "convert the video, as with `ffmpeg -i FILE video.mp4`, or skip bad items with --skip-bad"
            )
        return VideoFrame(pixels)

    def _read(self, number: int) -> Array | None:
        """Return a frame, or `None` if the video ends before it."""
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
        """Return the frame and its label."""
        return fetched.item()

    def close(self) -> None:
        """Close the file."""
        self._video.release()


class CameraSource:
    """An endless sequence of a camera's frames. Items are like those of a video.

    A frame can be read only once, in order and by one process. The camera is opened for the first frame.
    """

    live = True
    image_count = 1  # a single scene

    def __init__(self, device: int, *, skip_frames: int = 0) -> None:
        self.name = f"camera {device}"
        self._device, self._skipped, self._next = device, skip_frames, 0
        self._camera: Any = None

    def __len__(self) -> int:
        return sys.maxsize

    def fetch(self, index: int) -> VideoFrame:
        """Return the next frame."""
        if index != self._next:
            raise DataError(
                f"{self.name}: its frames can be read only once, so a run can't be resumed, repeated or shared "
                "among processes; record a video and use that"
            )
        if self._camera is None:
            self._camera = self._opened()
        for _ in range(self._skipped):
            self._camera.grab()
        is_there, pixels = self._camera.read()
        if not is_there:
            raise DataError(f"{self.name}: the camera sends no more frames; check whether it is connected")
        self._next += 1
        return VideoFrame(pixels)

    def _opened(self) -> Any:
        with _quiet_opencv() as cv2:
            camera = cv2.VideoCapture(self._device)
        if not camera.isOpened():
            raise DataError(
                f"{self.name}: the camera can't be opened; check whether it is connected, and whether another "
                "program uses it"
            )
        return camera

    def item(self, fetched: VideoFrame) -> Item:
        """Return the frame and its label."""
        return fetched.item()

    def close(self) -> None:
        """Release the camera, so that other programs can use it."""
        if self._camera is not None:
            self._camera.release()


def _open_video(path: Path) -> Any:
    """Return OpenCV's reader of a file. The path is absolute, so that no part of it is taken for a protocol."""
    with _quiet_opencv() as cv2, file_errors(path, cv2.error):
        video = cv2.VideoCapture(str(path.resolve()), cv2.CAP_FFMPEG)
    if not video.isOpened():
        raise DataError(
            f"{path}: the video can't be opened, because it is damaged or its format is unknown to OpenCV; "
            "convert it, as with `ffmpeg -i FILE video.mp4`"
        )
    return video


@contextmanager
def _quiet_opencv() -> Iterator[Any]:
    """Yield OpenCV with its log silenced. Errors are reported as exceptions."""
    cv2 = opencv()
    level = cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
    try:
        yield cv2
    finally:
        cv2.utils.logging.setLogLevel(level)


class VideoFolder(NamedTuple):
    """A line of a list: the folder with a video's frames, their number, and the video's label."""

    path: str
    frames: int
    label: int


class EncodedFrames(NamedTuple):
    """The files of an item's frames, with their paths, and the item's label."""

    files: list[tuple[str, bytes]]
    label: int


@dataclass(frozen=True)
class VideoList:
    """A list whose lines name a folder, the number of its frames and a label.

    An item has `length` consecutive frames from each of the `segments` of a video. A frame is an image or, with `flow`,
    two gray images of the horizontal and the vertical motion. `pattern` is the form of the files' names. Frames are
    resized to `size` unless it is (0, 0).
    """

    path: str | Path
    segments: int = 1
    length: int = 1
    flow: bool = False
    color: bool = True
    pattern: str = ""
    size: tuple[int, int] = (0, 0)


def frames_of_item(segments: int, length: int) -> int:
    """Return the number of frames of an item. Raises a `LimitError` if there are too many."""
    Limit.FRAMES.check(segments * length, "an item with num_segments times new_length frames")
    return segments * length


class VideoSegmentSource:
    """An endless sequence of items from videos. An item is a stack of frames, channel by channel, and a label.

    In training, the frames begin at a random place in a segment, and otherwise in its middle. If segments are shorter
    than the frames of an item, all of them use the video's first frames. Random numbers depend only on the seed and an
    item's place, so this source shuffles itself.
    """

    def __init__(self, videos: VideoList, *, train: bool, shuffle: bool = False, seed: int = 0) -> None:
        if videos.segments < 1 or videos.length < 1:
            raise DataError(f"num_segments is {videos.segments} and new_length {videos.length}; set both to 1 or more")
        frames_of_item(videos.segments, videos.length)
        self._videos, self._train, self._seed = videos, train, seed
        self._pattern = _pattern(videos)
        self._lines = [_video_folder(videos.path, number, line) for number, line in listed_lines(videos.path)]
        self._order = Order((len(self._lines),), shuffle, seed)

    def __len__(self) -> int:
        return sys.maxsize

    @property
    def image_count(self) -> int:
        """The number of videos."""
        return len(self._lines)

    def fetch(self, index: int) -> EncodedFrames:
        """Return the bytes of an item's frames."""
        video = self._lines[self._order.index(index)]
        frames = [
            first + number + 1  # files are numbered from 1
            for first in self._firsts(video.frames, index)
            for number in range(self._videos.length)
        ]
        kinds = _ACROSS_AND_DOWN if self._videos.flow else ("",)
        names = [self._pattern % ((kind, frame) if kind else frame) for frame in frames for kind in kinds]
        paths = [f"{video.path}/{name}" for name in names]
        return EncodedFrames([(path, read_bytes(path)) for path in paths], video.label)

    def _firsts(self, frames: int, place: int) -> list[int]:
        """Return the number, from 0 on, of the first frame that is read in each segment."""
        each, length = frames // self._videos.segments, self._videos.length
        if each < length:
            return [0] * self._videos.segments
        starts = np.arange(self._videos.segments) * each
        if not self._train:
            return list((starts + (each - length + 1) // 2).tolist())
        random = np.random.default_rng((self._seed, place, _OFFSETS))
        return list((starts + random.integers(each - length + 1, size=len(starts))).tolist())

    def item(self, fetched: EncodedFrames) -> Item:
        """Return the stack of frames, and the label."""
        color = Color.COLOR if self._videos.color and not self._videos.flow else Color.GRAY
        frames = [self._resized(decode(data, color, path)) for path, data in fetched.files]
        for (path, _), frame in zip(fetched.files, frames, strict=True):
            if frame.shape != frames[0].shape:
                raise DataError(
                    f"{path}: the frame is {frame.shape[1:]}, but the first frame is {frames[0].shape[1:]}; set "
                    "new_height and new_width"
                )
        return np.concatenate(frames), np.array(fetched.label, np.float32)

    def _resized(self, image: Array) -> Array:
        return resize(image, *self._videos.size) if any(self._videos.size) else image

    def close(self) -> None:
        """Do nothing, because no file stays open."""


def _video_folder(path: str | Path, number: int, line: str) -> VideoFolder:
    folder, *words = line.rsplit(maxsplit=2)
    frames, label = (whole_number(word, *INT32) for word in words) if len(words) == 2 else (None, None)
    if frames is None or label is None:
        raise DataError(
            f"{path}:{number}: '{line[:40]}' isn't 'folder frames label'; write a folder, its number of frames and "
            "a whole number, as in walking/01 75 3"
        )
    if frames < 1:
        raise DataError(
            f"{path}:{number}: a video can't have {frames} frames; write the number of images in its folder"
        )
    return VideoFolder(folder, frames, label)


def _pattern(videos: VideoList) -> str:
    """Return the printf form of the names of frames. Raises a `DataError` if it has other placeholders than it
    needs."""
    parts = ("%c", _NUMBER) if videos.flow else (_NUMBER,)
    pattern = videos.pattern or (_FLOW if videos.flow else _IMAGES)
    if not re.fullmatch(_TEXT + "".join(part + _TEXT for part in parts), pattern):
        example = _FLOW if videos.flow else _IMAGES
        raise DataError(
            f"name_pattern '{pattern[:40]}' doesn't have the placeholders of frames; write it like '{example}'"
        )
    return pattern
