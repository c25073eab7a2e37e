"""Maps of joints and limbs, which pose nets learn to draw."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from netdsl.data.transforms.mean import Pixels

_LARGEST_EXPONENT = 4.6052  # Caffe's rule: a gaussian ends where it is down to one in a hundred
_LIMB_STRIDE = 8  # Caffe's rule: limbs are drawn for this stride, whatever the net's is
_LIMB_WIDTH = 1  # to either side, in places of a map

Grid = tuple[int, int]  # the height and width of a map


def joint_map(points: Pixels, grid: Grid, stride: int, sigma: float) -> Pixels:
    """A gaussian around every point (x, y), which together are 1 at most. The points are in pixels of the image."""
    rows, columns = ((stride - 1) / 2 + stride * np.arange(length, dtype=np.float32) for length in grid)
    total = np.zeros(grid, np.float32)
    for x, y in points:
        exponent = ((columns - x) ** 2 + (rows[:, None] - y) ** 2) / (2 * sigma * sigma)
        total += np.where(exponent > _LARGEST_EXPONENT, 0, np.exp(-exponent)).astype(np.float32)
    return np.minimum(total, 1)


def limb_map(limbs: Iterable[tuple[Pixels, Pixels]], grid: Grid) -> Pixels:
    """The direction of a limb along it: its x and its y.

    Where limbs of several people cross it is the last one's. The fork means to average them, and counts them wrongly.
    """
    field = np.zeros((2, *grid), np.float32)
    for begin, end in limbs:
        _draw_limb(field, begin / _LIMB_STRIDE, end / _LIMB_STRIDE)
    return field


def _draw_limb(field: Pixels, begin: Pixels, end: Pixels) -> None:
    x, y = end - begin
    length = np.sqrt(x * x + y * y)
    if not length:
        return
    direction = (end - begin) / length
    left, top = _places(np.minimum(begin, end) - _LIMB_WIDTH, field)
    right, bottom = _places(np.maximum(begin, end) + _LIMB_WIDTH, field)
    columns, rows = np.arange(left, right, dtype=np.float32), np.arange(top, bottom, dtype=np.float32)[:, None]
    distance = np.abs((columns - begin[0]) * direction[1] - (rows - begin[1]) * direction[0])
    part = field[:, top:bottom, left:right]
    part[...] = np.where(distance <= _LIMB_WIDTH, direction[:, None, None], part)


def _places(point: Pixels, field: Pixels) -> list[int]:
    """The column and row of a point, or the nearest ones; halves go up, as C has it."""
    _, height, width = field.shape
    nearest: list[int] = np.clip(np.floor(point + 0.5), 0, (width, height)).astype(int).tolist()
    return nearest


def with_background(maps: Pixels) -> Pixels:
    """Maps of joints, and one that is 1 where none of them is."""
    background = np.maximum(1 - maps.max(0, initial=0), 0)
    result: Pixels = np.concatenate([maps, background[None]])
    return result
