"""Images in another size by pycaffe's arithmetic, which samples an image at points and doesn't smooth it before."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]
Image = NDArray[np.float32]


class Grid(Enum):
    """What pixels are taken for, which says where the points lie."""

    AREAS = "areas"  # as scikit-image does; beyond the image it is as dark as its darkest pixel
    POINTS = "points"  # as scipy does: the outer ones are in the corners


def resample(image: Numbers, size: Sequence[int] | Numbers, *, linear: bool = True, grid: Grid = Grid.AREAS) -> Image:
    """An image of height, width and any other axes in a new height and width, by the nearest pixels or linearly."""
    outside, values = float(image.min()), image
    for axis, length in enumerate(size):
        positions = _positions(values.shape[axis], int(length), grid)
        values = _interpolated(values, axis, positions, outside) if linear else _nearest(values, axis, positions)
    return values.astype(np.float32)


def _positions(old: int, new: int, grid: Grid) -> Numbers:
    return (np.arange(new) + 0.5) * (old / new) - 0.5 if grid is Grid.AREAS else np.linspace(0, old - 1, new)


def _nearest(values: Numbers, axis: int, positions: Numbers) -> Numbers:
    return values.take(np.floor(positions + 0.5).astype(int), axis)


def _interpolated(values: Numbers, axis: int, positions: Numbers, outside: float) -> Numbers:
    """The values at positions between pixels or outside of the image."""
    before = np.floor(positions).astype(int)
    fraction = (positions - before).reshape(-1, *[1] * (values.ndim - axis - 1))
    result = _at(values, axis, before, outside)
    result *= 1 - fraction
    after = _at(values, axis, before + 1, outside)
    after *= fraction
    result += after
    return result


def _at(values: Numbers, axis: int, indices: Numbers, outside: float) -> Numbers:
    """The values at indices; only these are converted, since an image may be much larger than what becomes of it."""
    last = values.shape[axis] - 1
    taken = values.take(indices.clip(0, last), axis).astype(np.float64)
    beyond = (indices < 0) | (indices > last)
    if beyond.any():
        taken[(slice(None),) * axis + (beyond,)] = outside
    return taken
