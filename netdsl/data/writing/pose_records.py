"""Records of images with people, in the form that CMU's pose nets read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.poses import COUNTS, NUMBERS, OTHERS, PLACE, SCALE, SIZE, first_joint_row
from netdsl.data.transforms.mean import Pixels
from netdsl.data.types import Array
from netdsl.data.writing.sample_files import as_pixels
from netdsl.errors import DataError

_LEAST_WIDTH = 64  # of an image; narrower ones have no room for numbers
_GRAY, _COUNTS_END = 128, 15
_MOST_OTHERS = 255


def pose_record(image: Array, masks: Array, people: Pixels, dataset: str, *, number: int = 0, total: int = 1) -> bytes:
    """The record of an image and any number of masks, as channels, with the first person and all others.

    People are rows as `PoseDatumSource` has them. An image that has no room for their numbers is widened in gray, which
    isn't in its masks.
    """
    _, height, width = image.shape
    joints, others = people.shape[1] - 1, len(people) - 1
    rows = OTHERS + (1 + 4 * others if others else 0)
    if others > _MOST_OTHERS or height < rows:
        raise DataError(f"an image of {height} rows has no room for {1 + others} people, who need {rows}")
    wide = max(width, _LEAST_WIDTH, 4 * joints, 4 * others)
    channels = [_widened(image, wide, _GRAY), _numbers(people, (height, width), wide, dataset, number, total)]
    values = np.concatenate([*channels, _widened(masks, wide, 0)])
    datum = pb.Datum(channels=len(values), height=height, width=wide, data=values.tobytes(), label=0)
    return datum.SerializeToString()


def _widened(planes: Array, width: int, fill: int) -> Array:
    return np.pad(planes, ((0, 0), (0, 0), (0, width - planes.shape[2])), constant_values=fill)


def _numbers(people: Pixels, size: tuple[int, int], width: int, dataset: str, number: int, total: int) -> Array:
    """The channel of numbers."""
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
    """Records of images with numbers around zero, by their keys, each with a person whose joints are on a circle."""
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
