"""Axes that become one number each, and images at another size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np

from converters.incoming.net import NetBlob, NetWriter
from converters.incoming.pooling import global_pool
from converters.incoming.shaping import permute, reshape
from converters.incoming.sliding import repeated
from netdsl import dsl
from netdsl.errors import ConversionError
from netdsl.weights.match import AnyArray


class AxisReduction(Enum):
    """What of all values is kept; Caffe's names."""

    SUM = "SUM"
    MEAN = "MEAN"
    ABSOLUTE = "ASUM"
    SQUARES = "SUMSQ"
    MAX = "MAX"


def reduced(net: NetWriter, x: NetBlob, axes: Sequence[int], keep: bool, by: AxisReduction, part: str = "") -> NetBlob:
    """Some axes reduced; they go away unless they are kept, with length 1."""
    gone = {axis % len(x.shape) for axis in axes}
    kept = [axis for axis in range(len(x.shape)) if axis not in gone]
    target = [x.shape[axis] for axis in kept]
    if keep:
        target = [1 if axis in gone else size for axis, size in enumerate(x.shape)]
    if by is AxisReduction.MAX or (by is AxisReduction.MEAN and gone == {2, 3} and len(x.shape) == 4):
        return reshape(net, _pooled(net, x, gone, by), target, "shape")
    moved = permute(net, x, [*kept, *sorted(gone)], "last")
    top = net.layer(dsl.Reduction, [moved], part=part, operation=by.value, axis=len(kept))
    return reshape(net, top, target, "shape")


def _pooled(net: NetWriter, x: NetBlob, gone: set[int], by: AxisReduction) -> NetBlob:
    if gone != {2, 3} or len(x.shape) != 4:
        raise ConversionError(f"of axes {sorted(gone)} of {len(x.shape)}; Caffe's pooling takes height and width")
    return global_pool(net, x, "MAX" if by is AxisReduction.MAX else "AVE")


def arg_max(net: NetWriter, x: NetBlob, axis: int, *, keep: bool) -> NetBlob:
    """Where along an axis the largest value is, as a real number. Caffe's rule: of equal ones it is the last."""
    axis %= len(x.shape)
    top = net.layer(dsl.ArgMax, [x], axis=axis)
    return top if keep else reshape(net, top, (*x.shape[:axis], *x.shape[axis + 1 :]), "shape")


class Places(Enum):
    """Where the pixels of a resized image are in the old one."""

    CORNERS = "asymmetric"  # i * old / new
    MIDDLES = "half_pixel"  # (i + 0.5) * old / new - 0.5
    TORCH_MIDDLES = "pytorch_half_pixel"  # the same, but 0 if there is one pixel
    ENDS = "align_corners"  # i * (old - 1) / (new - 1)


def places_of(old: int, new: int, places: Places) -> AnyArray:
    """The place of every new pixel along an axis."""
    index = np.arange(new)
    if places is Places.ENDS:
        return index * ((old - 1) / (new - 1) if new > 1 else 0)
    if places is Places.CORNERS or (places is Places.TORCH_MIDDLES and new == 1):
        return index * (old / new)
    return (index + 0.5) * (old / new) - 0.5


# How the ways of ResizeNearestNeighbor choose along an axis.
_WAYS: dict[str | None, Callable[[int, int], AnyArray]] = {
    None: lambda old, new: np.floor(places_of(old, new, Places.CORNERS)),
    "half_pixel_centers": lambda old, new: np.floor(places_of(old, new, Places.MIDDLES) + 0.5),
    "half_pixel_onnx": lambda old, new: np.floor(places_of(old, new, Places.MIDDLES)),
    "align_corners": lambda old, new: np.floor(places_of(old, new, Places.ENDS) + 0.5),
}


def nearest(net: NetWriter, x: NetBlob, chosen: Sequence[AnyArray]) -> NetBlob:
    """An image made of pixels that are there: which rows and which columns."""
    old, size = _image(x), [len(each) for each in chosen]
    indices = [np.clip(each, 0, length - 1) for each, length in zip(chosen, old, strict=True)]
    times = [max(new // now, 1) for new, now in zip(size, old, strict=True)]
    if all(_agree(each, np.arange(now).repeat(most)) for each, now, most in zip(indices, old, times, strict=True)):
        return x if {*times} == {1} else repeated(net, x, times)
    for way, choose in _WAYS.items():
        if all(_agree(each, np.clip(choose(now, len(each)), 0, now - 1))
               for each, now in zip(indices, old, strict=True)):  # fmt: skip
            return net.layer(dsl.ResizeNearestNeighbor, [x], **_sized(size, way))
    raise ConversionError(f"no layer chooses just these pixels of {list(old)} for {size}")


def _agree(a: AnyArray, b: AnyArray) -> bool:
    return len(a) == len(b) and bool(np.all(a == b))


def bilinear(net: NetWriter, x: NetBlob, size: Sequence[int], places: Places) -> NetBlob:
    """The neighbours weighed by how near they are. Caffe itself can't: PSPNet's Interp, or Synopsys' ResizeBilinear."""
    if tuple(size) == _image(x):
        return x
    if places is Places.ENDS:
        return net.layer(dsl.Interp, [x], height=size[0], width=size[1])
    way = {Places.MIDDLES: "half_pixel_centers", Places.TORCH_MIDDLES: "pytorch_half_pixel"}.get(places)
    return net.layer(dsl.ResizeBilinear, [x], **_sized(size, way))


def _sized(size: Sequence[int], way: str | None) -> dict[str, Any]:
    settings = {"output_height": size[0], "output_width": size[1], "data_format": "NCHW"}
    return {**settings, way: True} if way else settings


def _image(x: NetBlob) -> tuple[int, ...]:
    if len(x.shape) != 4:
        raise ConversionError(f"only images of 4 axes can be resized, and this has {len(x.shape)}")
    return x.shape[2:]
