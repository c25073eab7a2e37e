"""Writes operators that only move values as Caffe layers: shapes, orders of axes, concatenation and slices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, takewhile

from converters.incoming.net_writer import NetBlob, NetWriter, axis_setting
from netdsl import dsl
from netdsl.errors import ConversionError
from netdsl.layer import Shape


def reshape(net: NetWriter, x: NetBlob, target: Sequence[int], part: str = "") -> NetBlob:
    """Reshape a blob. One number of the target may be -1. Leading axes that don't change stay open."""
    fixed_count = math.prod(size for size in target if size != -1)
    if -1 in target:
        target = [math.prod(x.shape) // fixed_count if size == -1 and fixed_count else size for size in target]
    if math.prod(target) != math.prod(x.shape):
        raise ConversionError(f"a blob of shape {list(x.shape)} can't be reshaped to {list(target)}")
    if tuple(target) == x.shape:
        return x
    last = len(target) - 1
    if 0 <= last < len(x.shape) - 1 and tuple(target[:last]) == x.shape[:last]:
        return net.layer(dsl.Flatten, [x], part=part, **axis_setting(last))
    same = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(x.shape, target, strict=False))))
    rest = list(target[same:]) if same else [-1, *target[1:]]
    return net.layer(dsl.Reshape, [x], part=part, shape={"dim": [*[0] * same, *rest]})


def permute(net: NetWriter, x: NetBlob, order: Sequence[int], part: str = "") -> NetBlob:
    """Permute axes: the axis `order[i]` moves to position i.

    This uses SSD's Permute, or a reshape if no values move.
    """
    moving = [axis for axis in order if x.shape[axis] != 1]
    if moving == sorted(moving) and order[0] == 0:
        return reshape(net, x, [x.shape[axis] for axis in order], part)
    return net.layer(dsl.Permute, [x], part=part, order=list(order))


def swapped_axes(axes: int, first: int, second: int) -> list[int]:
    """Return the order of axes with two of them swapped."""
    order = list(range(axes))
    order[first], order[second] = order[second], order[first]
    return order


def concat(net: NetWriter, parts: Sequence[NetBlob], axis: int) -> NetBlob:
    """Concatenate parts along an axis."""
    if len(parts) == 1:
        return parts[0]
    return net.layer(dsl.Concat, parts, **axis_setting(axis % len(parts[0].shape)))


def split(net: NetWriter, x: NetBlob, axis: int, sizes: Sequence[int], part: str = "") -> tuple[NetBlob, ...]:
    """Split a blob along an axis into parts of the given lengths."""
    axis %= len(x.shape)
    if sum(sizes) != x.shape[axis]:
        raise ConversionError(f"parts of {list(sizes)} don't add up to the length {x.shape[axis]} of axis {axis}")
    if len(sizes) == 1:
        return (x,)
    points = list(accumulate(sizes))[:-1]
    return net.layers(dsl.Slice, [x], tops=len(sizes), part=part, slice_point=points, **axis_setting(axis))


def narrow(net: NetWriter, x: NetBlob, axis: int, start: int, stop: int, part: str = "") -> NetBlob:
    """Return a slice along an axis. Negative positions count from the end, and positions are clipped to the axis."""
    axis %= len(x.shape)
    start, stop, _ = slice(start, stop).indices(x.shape[axis])
    if stop <= start:
        raise ConversionError(f"the slice along axis {axis} is empty")
    sizes = [size for size in (start, stop - start, x.shape[axis] - stop) if size]
    return split(net, x, axis, sizes, part)[1 if start else 0]


def select(net: NetWriter, x: NetBlob, axis: int, index: int) -> NetBlob:
    """Return the values at one position along an axis. The axis is removed."""
    axis %= len(x.shape)
    index %= x.shape[axis]
    slice_top = narrow(net, x, axis, index, index + 1, "slice")
    return reshape(net, slice_top, (*x.shape[:axis], *x.shape[axis + 1 :]))


def expand(net: NetWriter, x: NetBlob, target: Sequence[int], part: str = "") -> NetBlob:
    """Broadcast a blob to a shape. New axes are added in front."""
    x = reshape(net, x, (*(1,) * (len(target) - len(x.shape)), *x.shape), f"{part}shape")
    for axis, (size, target_size) in enumerate(zip(x.shape, target, strict=True)):
        if target_size not in (size, 1, -1):
            x = net.layer(dsl.Tile, [x], part=f"{part}{axis}" if part else "", axis=axis, tiles=target_size)
    return x


def tile(net: NetWriter, x: NetBlob, times: Sequence[int]) -> NetBlob:
    """Repeat a blob along every axis, as numpy's tile does."""
    x = reshape(net, x, (*(1,) * (len(times) - len(x.shape)), *x.shape), "shape")
    for axis, count in enumerate(times):
        x = net.layer(dsl.Tile, [x], axis=axis, tiles=count) if count != 1 else x
    return x


def squeezed_shape(shape: Shape, axes: Sequence[int] | None) -> Shape:
    """Return the shape without the given axes of length 1, or without all such axes if `axes` is `None`."""
    removed_axes = {axis % len(shape) for axis in axes} if axes is not None else range(len(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in removed_axes or size != 1)


def unsqueezed_shape(shape: Shape, axes: Sequence[int]) -> Shape:
    """Return the shape with axes of length 1 inserted at the given positions."""
    count = len(shape) + len(axes)
    new, rest = {axis % count for axis in axes}, iter(shape)
    return tuple(1 if axis in new else next(rest) for axis in range(count))


def depth_to_space(net: NetWriter, x: NetBlob, block: int, *, depth_first: bool) -> NetBlob:
    """Move channels to squares of pixels. With `depth_first`, the pixel's index varies slower than the channel's."""
    n, c, h, w = _image(x)
    shape, order = ((n, block, block, c // block**2, h, w), (0, 3, 4, 1, 5, 2)) if depth_first else (
        (n, c // block**2, block, block, h, w), (0, 1, 4, 2, 5, 3))  # fmt: skip
    moved = permute(net, reshape(net, x, shape, "blocks"), order)
    return reshape(net, moved, (n, c // block**2, h * block, w * block), "pixels")


def space_to_depth(net: NetWriter, x: NetBlob, block: int, *, depth_first: bool) -> NetBlob:
    """Move squares of pixels to channels. This is the inverse of `depth_to_space`."""
    n, c, h, w = _image(x)
    blocks = reshape(net, x, (n, c, h // block, block, w // block, block), "blocks")
    moved = permute(net, blocks, (0, 3, 5, 1, 2, 4) if depth_first else (0, 1, 3, 5, 2, 4))
    return reshape(net, moved, (n, c * block**2, h // block, w // block), "channels")


def _image(x: NetBlob) -> Shape:
    if len(x.shape) != 4:
        raise ConversionError(f"an image must have 4 axes, but this blob has {len(x.shape)}")
    return x.shape
