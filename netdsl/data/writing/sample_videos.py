"""Made-up videos: a file of frames, and folders with an image for each frame."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from netdsl.data.transforms.decode import opencv
from netdsl.data.types import Array
from netdsl.data.writing.encode import ImageFormat, encode
from netdsl.errors import DataError

_CODEC = "FFV1"  # which loses nothing
_FRAMES_IN_A_SECOND = 25
_IMAGES, _FLOW = "image_%d.png", "flow_%c_%d.png"
_ACROSS_AND_DOWN = ("x", "y")


def as_frames(images: Array) -> Array:
    """Images of channels, height, width as frames, whose sides are even numbers: the last pixels are repeated."""
    return np.pad(images, ((0, 0), (0, 0), *((0, side % 2) for side in images.shape[2:])), "edge")


def write_video(frames: Array, folder: Path) -> str:
    """Write frames of blue, green, red as a video into a folder; returns its path."""
    cv2, path = opencv(), str(folder / "video.avi")
    size = frames.shape[3], frames.shape[2]
    writer = cv2.VideoWriter(path, cv2.CAP_FFMPEG, cv2.VideoWriter_fourcc(*_CODEC), _FRAMES_IN_A_SECOND, size)
    if not writer.isOpened():
        raise DataError(f"{path}: OpenCV can't write a video of {size[1]} x {size[0]} here")
    for frame in frames:
        writer.write(np.ascontiguousarray(frame.transpose(1, 2, 0)))
    writer.release()
    return path


def write_stacks(stacks: Array, channels: int, folder: Path) -> tuple[list[str], str]:
    """Write stacks of frames of so many channels as folders; returns their paths and the form of the frames' names.

    Of two channels each is a file.
    """
    paths = [folder / f"video{number}" for number in range(len(stacks))]
    for path, stack in zip(paths, stacks, strict=True):
        path.mkdir()
        for number in range(len(stack) // channels):
            frame = stack[number * channels : (number + 1) * channels]
            for name, image in _named(frame, number + 1).items():
                (path / name).write_bytes(encode(image, ImageFormat.PNG, name))
    return [str(path) for path in paths], _FLOW if channels == len(_ACROSS_AND_DOWN) else _IMAGES


def _named(frame: Array, number: int) -> dict[str, Array]:
    """The images of a frame by the names of their files."""
    if len(frame) != len(_ACROSS_AND_DOWN):
        return {_IMAGES % number: frame}
    return {_FLOW % (kind, number): plane[None] for kind, plane in zip(_ACROSS_AND_DOWN, frame, strict=True)}
