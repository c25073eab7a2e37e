"""R-CNN's window files: images, and the windows of each with their class and their overlap with an object."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.listing import numbered_lines
from netdsl.errors import DataError

WindowRows = NDArray[Any]

_COLUMNS = 6  # of a window's line: class, overlap, x1, y1, x2, y2


class WindowFile(NamedTuple):
    """The images, and the windows of objects and of background as rows of image, label, x1, y1, x2, y2."""

    paths: list[str]
    objects: WindowRows
    background: WindowRows


def read_windows(p: pb.WindowDataParameter) -> WindowFile:
    """Read the windows of a file, split by their overlap; those between the two thresholds are left out."""
    paths: list[str] = []
    windows: list[tuple[WindowRows, WindowRows]] = [(np.empty((0, _COLUMNS), int),) * 2]
    lines = numbered_lines(p.source)
    for number, line in lines:
        if line.split() != ["#", str(len(paths))]:
            raise DataError(
                f"{p.source}:{number}: '{line[:40]}' must be '# {len(paths)}', with which the next image begins"
            )
        path, *_, count = _values(lines, 5, p.source, number)
        rows = _rows(_values(lines, _number(count, p.source, number), p.source, number), p.source, number)
        windows.append(_split(rows, len(paths), p, number))
        paths.append(p.root_folder + path.strip())
    objects, background = (np.concatenate(parts) for parts in zip(*windows, strict=True))
    if not len(objects) or not len(background):
        raise DataError(
            f"{p.source}: has {len(objects)} windows of objects (overlap from {p.fg_threshold:g} on) and "
            f"{len(background)} of background (below {p.bg_threshold:g}); both are needed"
        )
    return WindowFile(paths, objects, background)


def _values(lines: Iterator[tuple[int, str]], count: int, path: str, number: int) -> list[str]:
    values = [line for _, line in islice(lines, count)]
    if len(values) < count:
        raise DataError(f"{path}: ends within the image of line {number}; the file is truncated")
    return values


def _number(text: str, path: str, number: int) -> int:
    if not text.strip().isdecimal():
        raise DataError(f"{path}: the image of line {number} has '{text[:40]}' windows, which is not a number")
    return int(text)


def _rows(lines: list[str], path: str, number: int) -> WindowRows:
    try:
        return np.loadtxt(lines, ndmin=2, comments=None, usecols=range(_COLUMNS)) if lines else np.empty((0, _COLUMNS))
    except ValueError as problem:
        raise DataError(
            f"{path}: the windows of line {number}'s image aren't 'class overlap x1 y1 x2 y2': {problem}"
        ) from None


def _split(rows: WindowRows, image: int, p: pb.WindowDataParameter, number: int) -> tuple[WindowRows, WindowRows]:
    """The windows of objects and of background. All windows of background have the label 0, whatever their class."""
    overlap = rows[:, 1].astype(np.float32)
    is_object = overlap >= np.float32(p.fg_threshold)
    with_image = np.insert(rows[:, [0, 2, 3, 4, 5]], 0, image, axis=1).astype(int)
    objects, background = with_image[is_object], with_image[~is_object & (overlap < np.float32(p.bg_threshold))]
    if (objects[:, 1] <= 0).any():
        raise DataError(
            f"{p.source}: a window of an object has class 0, which means background, in the image of line {number}"
        )
    background[:, 1] = 0
    return objects, background
