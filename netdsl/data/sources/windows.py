"""R-CNN's training data: windows of images, which a window file lists with their classes and overlaps."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caffe_proto import caffe_pb2 as pb
from caffe_proto.whole_numbers import INT32, whole_number
from netdsl.data.sources.files import numbered_lines, read_bytes
from netdsl.data.sources.source import Item
from netdsl.data.transforms.crops import Region, WindowPlacement
from netdsl.data.transforms.decode import Color, decode, resize
from netdsl.data.transforms.mean import Mean, Pixels
from netdsl.data.types import Array
from netdsl.errors import DataError

WindowRows = NDArray[Any]

_COLUMNS = 6  # numbers in a window's line: class, overlap, x1, y1, x2, y2


class WindowFile(NamedTuple):
    """The images, and the windows of objects and background as rows of image, label, x1, y1, x2, y2."""

    paths: list[str]
    objects: WindowRows
    background: WindowRows


def read_windows(p: pb.WindowDataParameter) -> WindowFile:
    """Return the windows in a file, divided by their overlap. Windows between the two thresholds are left out."""
    paths: list[str] = []
    windows: list[tuple[WindowRows, WindowRows]] = [(np.empty((0, _COLUMNS), int),) * 2]
    lines = numbered_lines(p.source)
    for number, line in lines:
        if line.split() != ["#", str(len(paths))]:
            raise DataError(f"{p.source}:{number}: '{line[:40]}' doesn't begin the next image; write '# {len(paths)}'")
        path, *_, count = _next_lines(lines, 5, p.source, number)
        rows = _window_rows(
            _next_lines(lines, _window_count(count, p.source, number), p.source, number), p.source, number
        )
        windows.append(_objects_and_background(rows, len(paths), p, number))
        paths.append(p.root_folder + path.strip())
    objects, background = (np.concatenate(parts) for parts in zip(*windows, strict=True))
    if not len(objects) or not len(background):
        raise DataError(
            f"{p.source}: the file has {len(objects)} windows of objects (overlap from {p.fg_threshold:g} on) "
            f"and {len(background)} of background (below {p.bg_threshold:g}); add windows of the missing kind, "
            "or change fg_threshold and bg_threshold"
        )
    return WindowFile(paths, objects, background)


def _next_lines(lines: Iterator[tuple[int, str]], count: int, path: str, number: int) -> list[str]:
    values = [line for _, line in islice(lines, count)]
    if len(values) < count:
        raise DataError(
            f"{path}: the file ends within the image of line {number}, so it is truncated; download or write it again"
        )
    return values


def _window_count(text: str, path: str, number: int) -> int:
    count = whole_number(text.strip())
    if count is None:
        raise DataError(
            f"{path}: the number of windows of the image in line {number} is '{text[:40]}'; write the number of "
            "windows that follow"
        )
    return count


def _window_rows(lines: list[str], path: str, number: int) -> WindowRows:
    if not lines:
        return np.empty((0, _COLUMNS))
    try:
        rows = np.loadtxt(lines, ndmin=2, comments=None, usecols=range(_COLUMNS))
        if not (np.abs(rows) <= INT32[1]).all():  # also true for NaN
            raise ValueError("a number is too large")
    except ValueError as problem:
        raise DataError(
            f"{path}: the windows of line {number}'s image aren't 'class overlap x1 y1 x2 y2': {problem}; write "
            "these six numbers in each line"
        ) from None
    return rows


def _objects_and_background(
    rows: WindowRows, image: int, p: pb.WindowDataParameter, number: int
) -> tuple[WindowRows, WindowRows]:
    """Return the windows of objects and of background. All windows of background get the label 0."""
    overlap = rows[:, 1].astype(np.float32)
    is_object = overlap >= np.float32(p.fg_threshold)
    with_image = np.insert(rows[:, [0, 2, 3, 4, 5]], 0, image, axis=1).astype(int)
    objects, background = with_image[is_object], with_image[~is_object & (overlap < np.float32(p.bg_threshold))]
    if (objects[:, 1] <= 0).any():
        raise DataError(
            f"{p.source}: a window of an object has class 0, which means background, in the image of line "
            f"{number}; write its class, from 1 on, or an overlap below fg_threshold"
        )
    background[:, 1] = 0
    return objects, background


class ImageWindow(NamedTuple):
    """A window that was drawn, and its image file."""

    path: str
    data: bytes
    region: Region
    label: int
    mirrored: bool


class WindowSource:
    """An endless sequence of randomly drawn windows. An item is a window of crop_size, ready for the net, and its
    label.

    Caffe fills every batch with windows of background, followed by a share of objects. So the place of item i in its
    batch decides whether it is an object, and (seed, i) decides which one. The sequence has no state and can be read
    from any index on. It needs no Transform and no shuffling, and has the largest possible length.
    """

    def __init__(self, p: pb.WindowDataParameter, transform: pb.TransformationParameter, *, seed: int = 0) -> None:
        _check_settings(p, transform)
        self._p, self._seed = p, seed
        self._mirror, self._size = transform.mirror, transform.crop_size
        self._objects = int(np.float32(p.batch_size) * np.float32(p.fg_fraction))
        self._placement = WindowPlacement(self._size, p.context_pad, square=p.crop_mode == "square")
        self._mean = Mean(transform)
        self._offset = self._mean_offset()
        self._file = read_windows(p)
        self._cache = [read_bytes(path) for path in self._file.paths] if p.cache_images else []

    def _mean_offset(self) -> int:
        """Return the first row and column of the mean image's part for windows.

        As in Caffe, the part is centered horizontally, and its first row has the same number as its first column.
        """
        if self._mean.image is None:
            return 0
        _, height, width = self._mean.image.shape
        offset: int = (width - self._size) // 2
        if offset < 0 or offset + self._size > height:
            raise DataError(
                f"mean_file {self._mean.file}: {height} x {width} has no room for a crop of {self._size}; write "
                "a larger one with `zoo data mean --resize HxW`"
            )
        return offset

    def __len__(self) -> int:
        return sys.maxsize

    @property
    def image_count(self) -> int:
        """The number of images."""
        return len(self._file.paths)

    def fetch(self, index: int) -> ImageWindow:
        """Draw a window, and read its image file."""
        random = np.random.default_rng((self._seed, index))
        is_object = index % self._p.batch_size >= self._p.batch_size - self._objects
        windows = self._file.objects if is_object else self._file.background
        image, label, *corners = windows[random.integers(len(windows))].tolist()
        path = self._file.paths[image]
        data = self._cache[image] if self._cache else read_bytes(path)
        return ImageWindow(path, data, Region(*corners), label, self._mirror and bool(random.integers(2)))

    def item(self, fetched: ImageWindow) -> Item:
        """Return the resized window and its label. Pixels outside the image are 0."""
        image = decode(fetched.data, Color.COLOR, fetched.path)
        place = self._placement.place(fetched.region, image.shape[1], image.shape[2], fetched.mirrored, fetched.path)
        pixels = resize(image[place.source], place.height, place.width)
        result = np.zeros((len(image), self._size, self._size), np.float32)
        inside = slice(None), slice(place.top, place.top + place.height), slice(place.left, place.left + place.width)
        self._fill(result[inside], pixels[:, :, ::-1] if fetched.mirrored else pixels, inside)
        return result, np.array(fetched.label, np.float32)

    def _fill(self, target: Pixels, pixels: Array, inside: tuple[slice, slice, slice]) -> None:
        target[...] = pixels
        mean = self._mean_of(len(pixels))
        if mean is not None:
            target -= mean[inside]
        # As in Caffe, from window_data_param; the scale in transform_param is ignored.
        target *= np.float32(self._p.scale)

    def _mean_of(self, channels: int) -> Pixels | None:
        """Return the mean for a whole square, or `None` if there is none."""
        image = self._mean.image
        if image is None:
            return self._mean.of_channels(channels, self._size, self._size)
        if len(image) != channels:
            raise DataError(
                f"mean_file {self._mean.file} has {len(image)} channels, but the image has {channels}; use a "
                f"mean with {channels}"
            )
        return image[:, self._offset :, self._offset :]

    def close(self) -> None:
        """Free the images in memory."""
        self._cache = []


def _check_settings(p: pb.WindowDataParameter, transform: pb.TransformationParameter) -> None:
    if not transform.crop_size:
        raise DataError("WindowData needs the size of its windows; set crop_size in transform_param")
    if transform.crop_size <= 2 * p.context_pad:
        raise DataError(
            f"context_pad {p.context_pad} leaves nothing of a crop_size of {transform.crop_size}; lower context_pad"
        )
    if p.crop_mode not in ("warp", "square"):
        raise DataError(f"crop_mode is '{p.crop_mode}'; use 'warp' or 'square'")
    if not 0 <= p.fg_fraction <= 1 or not p.batch_size:
        raise DataError(
            f"fg_fraction is {p.fg_fraction:g} and batch_size {p.batch_size}; "
            "set fg_fraction to a value from 0 to 1, and batch_size to 1 or more"
        )
