"""Synthetic files in the form that data layers read, so that a net can run without its data set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from caffe_proto import caffe_pb2 as pb
from caffe_proto import text_of
from netdsl.data.transforms.decode import opencv
from netdsl.data.transforms.image_settings import resize_of
from netdsl.data.types import Array, Shape
from netdsl.data.writing.image_files import ImageFormat, encode
from netdsl.data.writing.mean_image import write_mean
from netdsl.errors import DataError

_GRAY = 128  # the mean of synthetic images
_CONTRAST = 40  # the spread of their values
_CODEC = "FFV1"  # a lossless codec
_FRAMES_IN_A_SECOND = 25
_IMAGES, _FLOW = "image_%d.png", "flow_%c_%d.png"
_ACROSS_AND_DOWN = ("x", "y")
_BOX = (0.2, 0.3, 0.7, 0.8)  # left, top, right and bottom edge, as shares of an image's size
_CLASS, _WHITE = 1, 255
# Where lanes begin, their number of points, and how far up they extend.
_LANES, _POINTS, _HORIZON = ((0.1, 0.4, 0.9), 8, 0.7)


def as_pixels(values: Array) -> Array:
    """Return values around zero as bytes."""
    return np.clip(np.rint(_GRAY + _CONTRAST * values.astype(np.float32)), 0, 255).astype(np.uint8)


def as_labels(values: Array) -> NDArray[np.uint8]:
    """Return labels as bytes."""
    return np.clip(values.astype(np.float32), 0, 255).astype(np.uint8)


def write_images(images: Iterable[Array], folder: Path, name: str = "image") -> list[str]:
    """Write bytes of channels, height, width as image files into a folder, and return their names."""
    names = []
    for index, image in enumerate(images):
        names.append(f"{name}{index}.png")
        (folder / names[-1]).write_bytes(encode(image, ImageFormat.PNG, names[-1]))
    return names


def write_list(folder: Path, *columns: Sequence[object]) -> str:
    """Write a list with an item in each line into a folder, and return its path."""
    path = folder / "list.txt"
    path.write_text("".join(" ".join(map(str, line)) + "\n" for line in zip(*columns, strict=True)))
    return str(path)


def write_mean_file(layer: pb.LayerParameter, image: Shape, folder: Path) -> None:
    """Write the mean that a layer subtracts from images of this shape, and set its path in the layer.

    Does nothing if the layer has no mean file.
    """
    p = layer.transform_param
    if p.mean_file:
        p.mean_file = str(folder / "mean.binaryproto")
        write_mean(np.full((image[0], *(resize_of(p) or image[1:])), _GRAY, np.float32), p.mean_file)


def as_frames(images: Array) -> Array:
    """Return images of channels, height, width as frames with even sides. The last row and column are repeated if
    needed."""
    return np.pad(images, ((0, 0), (0, 0), *((0, side % 2) for side in images.shape[2:])), "edge")


def write_video(frames: Array, folder: Path) -> str:
    """Write frames in blue, green, red as a video into a folder, and return its path."""
    cv2, path = opencv(), str(folder / "video.avi")
    size = frames.shape[3], frames.shape[2]
    writer = cv2.VideoWriter(path, cv2.CAP_FFMPEG, cv2.VideoWriter_fourcc(*_CODEC), _FRAMES_IN_A_SECOND, size)
    if not writer.isOpened():
        raise DataError(
            f"{path}: OpenCV can't write a video of {size[1]} x {size[0]} here; install an OpenCV with FFmpeg, as "
            "in pip install opencv-python-headless"
        )
    for frame in frames:
        writer.write(np.ascontiguousarray(frame.transpose(1, 2, 0)))
    writer.release()
    return path


def write_stacks(stacks: Array, channels: int, folder: Path) -> tuple[list[str], str]:
    """Write stacks of frames with this many channels as folders. Return their paths and the form of the frames' names.

    With two channels, each channel is a file.
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
    """Return the images of a frame by the names of their files."""
    if len(frame) != len(_ACROSS_AND_DOWN):
        return {_IMAGES % number: frame}
    return {_FLOW % (kind, number): plane[None] for kind, plane in zip(_ACROSS_AND_DOWN, frame, strict=True)}


def annotated_samples(images: Iterable[Array], *, white: bool) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and records of images with values around zero. Each image has an object and its class map.

    In the map, an object's pixels are the number of its class, or `white`.
    """
    for index, image in enumerate(images):
        record = pb.AnnotatedDatum(type=pb.AnnotatedDatum.BBOX)
        pixels, key = as_pixels(image), f"{index:08}"
        classes = _map(pixels.shape[1], pixels.shape[2], _WHITE if white else _CLASS)
        record.datum.data, record.datum.encoded = encode(pixels, ImageFormat.PNG, key), True
        record.datum.seg_label = encode(classes, ImageFormat.PNG, key)
        box = record.annotation_group.add(group_label=_CLASS).annotation.add().bbox
        box.xmin, box.ymin, box.xmax, box.ymax = _BOX
        yield key.encode(), record.SerializeToString()


def lane_samples(images: Iterable[Array]) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and records of images with values around zero. Each image has lanes that meet at the horizon."""
    for index, image in enumerate(images):
        record, key = pb.AnnotatedDatum(type=pb.AnnotatedDatum.LANE), f"{index:08}"
        record.datum.data, record.datum.encoded = encode(as_pixels(image), ImageFormat.PNG, key), True
        for begin in _LANES:
            lane = record.annotation_group.add()
            for part in np.linspace(0, 1, _POINTS).tolist():
                point = lane.annotation.add().lanes
                point.x, point.y = begin + (0.5 - begin) * part, 1 - part * _HORIZON
        yield key.encode(), record.SerializeToString()


def _map(height: int, width: int, brightness: int) -> Array:
    rows, columns = ((np.arange(length) + 0.5) / length for length in (height, width))
    inside = ((rows > _BOX[1]) & (rows < _BOX[3]))[:, None] & ((columns > _BOX[0]) & (columns < _BOX[2]))
    return inside.astype(np.uint8)[None] * np.uint8(brightness)


def write_class_groups(path: Path, count: int) -> None:
    """Write a label map for class maps with this many channels, each of which represents one class."""
    labels = pb.YoloSegLabel()
    for number in range(count + 1):
        labels.item.add(name=f"class{number}", label_id=number)
    path.write_text(text_of(labels))
