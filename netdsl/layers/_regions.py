"""The shared code of region pooling: regions, and the maxima of rectangles in a feature map."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from netdsl.errors import ShapeError
from netdsl.layer import OnnxGraph, Shape
from netdsl.layer.onnx_form import scaled
from netdsl.layer.running import on_cpu
from netdsl.layers._loss import indices_of

_CACHED_BYTES, _DEVICE_BYTES = 2 << 20, 256 << 20  # the memory to work on at a time, on a CPU and on other devices


def rounded(x: Tensor) -> Tensor:
    """Return the rounded values. As in C and unlike in torch, halves are rounded away from zero."""
    whole = x.trunc()
    return whole + ((x - whole).abs() >= 0.5) * x.sign()


def rounded_onnx(g: OnnxGraph, x: str) -> str:
    """Write `rounded` in ONNX operators."""
    size = g.node("Floor", scaled(g, g.node("Abs", x), 1, 0.5))
    return g.node("Mul", g.node("Sign", x), size)


def check_regions(bottoms: Sequence[Shape]) -> None:
    """Raise a `ShapeError` unless the bottoms are a feature map and regions."""
    x, regions = bottoms
    if len(x) != 4:
        raise ShapeError(
            f"the first bottom must be a feature map of (batch, channels, height, width), not {list(x)}; "
            "connect the top of a convolution"
        )
    if not regions or math.prod(regions[1:]) != 5:
        raise ShapeError(
            f"the second bottom must have regions of (image, x1, y1, x2, y2), but it has shape {list(regions)}; "
            "connect the regions of the data layer or of the Proposal layer"
        )


def images_of(regions: Tensor, x: Tensor) -> Tensor:
    """Return the image index of each region. Raises a `NetError` if the batch doesn't have that image."""
    return indices_of(regions[:, 0], len(x), "images", "give the first bottom more items")


@dataclass(frozen=True)
class Spans:
    """Intervals of an axis for each region. Two blocks of 2 ** level positions cover each interval."""

    first: Tensor  # where the first block begins
    last: Tensor  # where the last block begins
    level: Tensor
    full: Tensor  # whether the interval isn't empty

    @classmethod
    def of(cls, start: Tensor, stop: Tensor, length: int) -> Spans:
        """Return the intervals from `start` to `stop` on an axis of a given length."""
        size = (stop - start).clamp_min(1)
        level = torch.frexp(size.double()).exponent - 1
        first = start.clamp_max(length - 1)
        return cls(first, first + size - 2**level, level, stop > start)

    def levels(self, length: int) -> int:
        """Return how many levels are used, or the most that the axis can have if counting them would wait for a GPU."""
        known = self.level.is_cpu and not torch.compiler.is_compiling()
        return int(self.level.max()) + 1 if known else length.bit_length()


def largest_in_rectangles(x: Tensor, image: Tensor, down: Spans, across: Spans, learning: Tensor) -> Tensor:
    """Return the largest value in each rectangle of a region's image, or 0 for an empty one.

    There is one rectangle for each region, channel and pair of intervals. The gradient goes to the first of equal
    values in reading order. A region that isn't learning gets no gradient.
    """
    rectangles = _Rectangles.of(x, image, down, across)
    if torch.is_grad_enabled() and x.requires_grad:
        top: Tensor = _Largest.apply(x, rectangles, learning)  # type: ignore[no-untyped-call]
    else:
        top = _searched(x, rectangles, with_places=False)[0]
    return top.view(*top.shape[:2], down.first.shape[1], across.first.shape[1])


@dataclass(frozen=True)
class _Rectangles:
    """The rectangles of each region. Four blocks whose sides are powers of 2 cover each rectangle.

    The values of all blocks form a table (levels down x levels across x images x height x width). Its last row stands
    for empty rectangles.
    """

    shape: tuple[int, ...]  # the table's shape without its last row
    corners: tuple[Tensor, ...]  # regions x rectangles: the four blocks' rows in the table

    @classmethod
    def of(cls, x: Tensor, image: Tensor, down: Spans, across: Spans) -> _Rectangles:
        images, _, height, width = x.shape
        shape = down.levels(height), across.levels(width), images, height, width
        block = down.level[:, :, None] * shape[1] + across.level[:, None]
        corner = (block * images + image[:, None, None]) * height
        full = down.full[:, :, None] & across.full[:, None]
        corners = (
            torch.where(full, (corner + rows[:, :, None]) * width + columns[:, None], torch.Size(shape).numel())
            for rows in (down.first, down.last)
            for columns in (across.first, across.last)
        )
        return cls(shape, tuple(corner.flatten(1) for corner in corners))

    @property
    def size(self) -> int:
        """The number of positions in the maps."""
        return torch.Size(self.shape[2:]).numel()

    def values(self, x: Tensor) -> Tensor:
        """Return the largest values of all blocks: rows x channels."""
        whole, table = self._table(x, x.dtype)
        table[0, 0] = x.permute(0, 2, 3, 1)
        for now, before, later in self._doublings(table):
            torch.maximum(before, later, out=now)
        whole[-1] = 0
        return whole

    def places(self, values: Tensor) -> Tensor:
        """Return the positions of the table's values in the maps.

        Among equal values, the first position counts. The position in an empty block is the size of the maps. Blocks
        are doubled in width before height, so that a block's first half precedes the second in reading order.
        """
        whole, table = self._table(values, torch.int32)
        table[0, 0] = torch.arange(self.size, dtype=torch.int32, device=values.device).view(*self.shape[2:], 1)
        steps = zip(self._doublings(table), self._doublings(values[:-1].view_as(table)), strict=True)
        for (now, before, later), (_, value_before, value_later) in steps:
            is_later = (value_later > value_before).int()
            torch.addcmul(before, later.sub_(before), is_later, out=now)  # several times faster than `where` on a CPU
        whole[-1] = self.size
        return whole

    def _table(self, like: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Return an empty table and a view of it without its last row."""
        channels = like.shape[1]
        whole = torch.empty(torch.Size(self.shape).numel() + 1, channels, dtype=dtype, device=like.device)
        return whole, whole[:-1].view(*self.shape, channels)

    def _doublings(self, table: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield blocks and their two halves, which are blocks of half the size.

        Blocks that cross the end are never read.
        """
        for level in range(1, self.shape[1]):
            half = table[0, level - 1]
            yield table[0, level], half, half.roll(-(2 ** (level - 1)), 2)
        for level in range(1, self.shape[0]):
            half = table[level - 1]
            yield table[level], half, half.roll(-(2 ** (level - 1)), 2)

    def pieces(self, x: Tensor) -> tuple[int, int]:
        """Return how many channels and regions to work on at a time, which bounds the memory and makes use of
        caches."""
        regions, rectangles = self.corners[0].shape
        if torch.compiler.is_compiling():
            return x.shape[1], regions
        numbers = (_CACHED_BYTES if on_cpu(x) else _DEVICE_BYTES) // x.element_size()
        channels = min(max(numbers // torch.Size(self.shape).numel(), 16), x.shape[1])
        return channels, max(numbers // (2 * channels * rectangles), 1)


def _searched(x: Tensor, rectangles: _Rectangles, *, with_places: bool) -> tuple[Tensor, Tensor]:
    """Return the largest values (regions x channels x rectangles), and with `with_places` the first positions of
    each."""
    width, count = rectangles.pieces(x)
    top = x.new_empty((len(rectangles.corners[0]), x.shape[1], rectangles.corners[0].shape[1]))
    at = torch.empty_like(top if with_places else top[:0], dtype=torch.int32)
    for channels in _slices(x.shape[1], width):
        values = rectangles.values(x[:, channels])
        places = rectangles.places(values) if with_places else at
        for regions in _slices(len(top), count):
            rows = [corner[regions].flatten() for corner in rectangles.corners]
            found = [values.index_select(0, row) for row in rows]
            best = reduce(torch.maximum, found)
            top[regions, channels] = best.view(-1, top.shape[2], best.shape[1]).transpose(1, 2)
            if with_places:
                own = (
                    places.index_select(0, row).add_((value < best).int(), alpha=rectangles.size)
                    for row, value in zip(rows, found, strict=True)
                )
                first = reduce(torch.minimum, own)
                at[regions, channels] = first.view(-1, top.shape[2], best.shape[1]).transpose(1, 2)
    return top, at


def _slices(length: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, length)) for start in range(0, length, size)]


class _Largest(torch.autograd.Function):
    """Computes the maxima in a few passes over cached data. The backward pass needs only the positions."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, rectangles: _Rectangles, learning: Tensor) -> Tensor:
        top, at = _searched(x, rectangles, with_places=True)
        ctx.save_for_backward(at, learning)
        ctx.shape, ctx.count = x.shape, rectangles.pieces(x)[1]
        return top

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        at, learning = ctx.saved_tensors
        images, channels, height, width = ctx.shape
        size = images * height * width
        result = gradient.new_zeros(channels * (size + 1))
        plane = torch.arange(channels, device=at.device)[:, None] * (size + 1)
        for regions in _slices(len(at), max(ctx.count // channels, 1)):
            places = at[regions].long().add_(plane)
            learned = gradient[regions] * learning[regions, None, None]
            result.scatter_add_(0, places.flatten(), learned.flatten())
        planes = result.view(channels, -1)[:, :size].view(channels, images, height, width)
        return planes.transpose(0, 1).contiguous(), None, None
