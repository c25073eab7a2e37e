"""Videos: the frames of a file, and clips of the files that a list names."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from netdsl.data.sources.files import file_errors, listed_lines, read_bytes, regular_file
from netdsl.data.sources.order import Order
from netdsl.data.sources.source import Item
from netdsl.data.transforms.decode import Color, decode, image_limit, opencv, planes, resize
from netdsl.data.types import Array
from netdsl.errors import DataError

VIDEO_ENDINGS = (".avi", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".webm")
_IMAGES, _FLOW = "image_%04d.jpg", "flow_%c_%04d.jpg"  # TSN's names of frames
_TEXT, _NUMBER = r"(?:[^%]|%%)*", r"%0?\d?\d?[diu]"  # parts of a name in printf's form
_ACROSS_AND_DOWN = ("x", "y")
_OFFSETS = 1  # tells the chance in offsets from all else that is drawn for an item


class VideoFrame(NamedTuple):
    """A frame as height, width, channels in the order blue, green, red."""

    pixels: Array

    def item(self) -> Item:
        """Return the image, and the label 0, which Caffe-SSD gives every frame."""
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
        """Return one frame."""
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
        """Return a frame; None if the video ends before it."""
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
        """Return the next frame."""
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
        """Return the frame and its label."""
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


class VideoFolder(NamedTuple):
    """A line of a list: the folder of a video's frames, how many there are, and the video's label."""

    path: str
    frames: int
    label: int


class EncodedFrames(NamedTuple):
    """The files of an item's frames, by their paths, and its label."""

    files: list[tuple[str, bytes]]
    label: int


@dataclass(frozen=True)
class VideoList:
    """A list whose lines name a folder, the number of its frames and a label.

    An item has `length` frames in a row from each of this many `segments` of a video. A frame is an image, or two gray
    ones if it is `flow`: how far things move across, and down. `pattern` is the form of the files' names. Frames are
    resized to `size` unless it is (0, 0).
    """

    path: str | Path
    segments: int = 1
    length: int = 1
    flow: bool = False
    color: bool = True
    pattern: str = ""
    size: tuple[int, int] = (0, 0)


class VideoSegmentSource:
    """An endless sequence of items of videos; an item is a stack of frames, channel by channel, and a label.

    In training the frames of a segment begin anywhere in it, else in its middle. If a segment is shorter than what is
    taken of it, all begin with the video's first frame. What is drawn follows from the seed and an item's place alone,
    so this source shuffles itself.
    """

    def __init__(self, videos: VideoList, *, train: bool, shuffle: bool = False, seed: int = 0) -> None:
        if videos.segments < 1 or videos.length < 1:
            raise DataError(f"num_segments is {videos.segments} and new_length {videos.length}; both must be 1 or more")
        self._videos, self._train, self._seed = videos, train, seed
        self._pattern = _pattern(videos)
        self._lines = [_video_folder(videos.path, number, line) for number, line in listed_lines(videos.path)]
        self._order = Order((len(self._lines),), shuffle, seed)

    def __len__(self) -> int:
        return sys.maxsize

    @property
    def image_count(self) -> int:
        """How many videos there are."""
        return len(self._lines)

    def fetch(self, index: int) -> EncodedFrames:
        """Return the bytes of an item's frames."""
        video = self._lines[self._order.index(index)]
        frames = [
            first + number + 1  # files count from 1
            for first in self._firsts(video.frames, index)
            for number in range(self._videos.length)
        ]
        kinds = _ACROSS_AND_DOWN if self._videos.flow else ("",)
        names = [self._pattern % ((kind, frame) if kind else frame) for frame in frames for kind in kinds]
        paths = [f"{video.path}/{name}" for name in names]
        return EncodedFrames([(path, read_bytes(path)) for path in paths], video.label)

    def _firsts(self, frames: int, place: int) -> list[int]:
        """Return the first frame that is taken of each segment, from 0 on."""
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
                    f"{path}: is {frame.shape[1:]} and the first frame is {frames[0].shape[1:]}; set new_height and "
                    "new_width"
                )
        return np.concatenate(frames), np.array(fetched.label, np.float32)

    def _resized(self, image: Array) -> Array:
        return resize(image, *self._videos.size) if any(self._videos.size) else image

    def close(self) -> None:
        """Do nothing, since no file stays open."""


def _video_folder(path: str | Path, number: int, line: str) -> VideoFolder:
    try:
        folder, frames, label = line.rsplit(maxsplit=2)
        video = VideoFolder(folder, int(frames), int(label))
    except ValueError:
        raise DataError(f"{path}:{number}: '{line[:40]}' is not 'folder frames label'") from None
    if video.frames < 1:
        raise DataError(f"{path}:{number}: a video has 1 frame or more, not {video.frames}")
    return video


def _pattern(videos: VideoList) -> str:
    """Return the form of the names of frames, as printf has it, which must have room for what changes and no more."""
    parts = ("%c", _NUMBER) if videos.flow else (_NUMBER,)
    pattern = videos.pattern or (_FLOW if videos.flow else _IMAGES)
    if not re.fullmatch(_TEXT + "".join(part + _TEXT for part in parts), pattern):
        example = _FLOW if videos.flow else _IMAGES
        raise DataError(f"name_pattern '{pattern[:40]}' is not of the form '{example}', which names frames")
    return pattern
