"""Coordinate maps between blobs, which determine how to crop one blob to another.

A map is (axis, scale, shift): along each spatial axis, position x is mapped to scale * x + shift. `axis` is the one
before the first spatial axis, or `None` for a layer that processes each position independently.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from netdsl.errors import NetError
from netdsl.pycaffe.net_spec import Function, Top, layers

Map = tuple[Any, Any, Any]  # arrays if a window isn't square

PASS_THROUGH_LAYERS = (
    "AbsVal",
    "BatchNorm",
    "Bias",
    "BNLL",
    "Dropout",
    "Eltwise",
    "ELU",
    "Log",
    "LRN",
    "Exp",
    "MVN",
    "Power",
    "ReLU",
    "PReLU",
    "Scale",
    "Sigmoid",
    "Split",
    "TanH",
    "Threshold",
)
_WINDOWS = ("Convolution", "Pooling", "Im2col")
_BY_AXIS = {"pad_h", "pad_w", "kernel_h", "kernel_w", "stride_h", "stride_w"}
_IDENTITY: Map = (None, 1, 0)


class UndefinedMapException(NetError):  # noqa: N818 - pycaffe's name
    """A layer's coordinates can't be mapped by a scale and a shift."""


class AxisMismatchException(NetError):  # noqa: N818
    """Two layers have different spatial axes."""


class UnconnectedError(NetError, RuntimeError):
    """No spatial layers connect two blobs."""


class CropError(NetError, AssertionError):
    """A blob can't be cropped to another."""


def conv_params(fn: Function) -> tuple[int, Any, Any, Any]:
    """Return the channel axis of a layer, and its window's stride, size with dilation, and padding."""
    settings = fn.params.get("convolution_param", fn.params)
    if _BY_AXIS & {*fn.params, *settings}:
        raise CropError(
            f"a {fn.type_name} layer has per-axis settings such as pad_h; give pad, stride and the others as lists"
        )
    if "kernel_size" not in settings:
        raise UndefinedMapException(
            f"a {fn.type_name} layer has no kernel_size; write kernel_size=... instead of kernel_h and kernel_w"
        )
    kernel, dilation = _per_axis(settings["kernel_size"]), _per_axis(settings.get("dilation", 1))
    pad, stride = _per_axis(settings.get("pad", 0)), _per_axis(settings.get("stride", 1))
    return settings.get("axis", 1), stride, (kernel - 1) * dilation + 1, pad


def crop_params(fn: Function) -> tuple[int, Any]:
    """Return the first axis that a layer crops, and its offset."""
    settings = fn.params.get("crop_param", fn.params)
    return settings.get("axis", 2), _per_axis(settings.get("offset", 0))


def _per_axis(value: Any) -> Any:
    return np.array(value, ndmin=1)


def coord_map(fn: Function) -> Map:
    """Return the coordinate map from a layer's tops to its bottoms."""
    if fn.type_name in PASS_THROUGH_LAYERS:
        return _IDENTITY
    if fn.type_name in _WINDOWS:
        axis, stride, size, pad = conv_params(fn)
        return axis, 1 / stride, (pad - (size - 1) / 2) / stride
    if fn.type_name == "Deconvolution":
        axis, stride, size, pad = conv_params(fn)
        return axis, stride, (size - 1) / 2 - pad
    if fn.type_name == "Crop":
        axis, offset = crop_params(fn)
        return axis - 1, 1, -offset
    raise UndefinedMapException(f"a {fn.type_name} layer has no coordinate map; leave it out of the map")


def compose(base_map: Map, next_map: Map) -> Map:
    """Return the map that applies `next_map` first and then `base_map`."""
    axis, scale, shift = base_map
    next_axis, next_scale, next_shift = next_map
    if axis is not None and next_axis is not None and axis != next_axis:
        raise AxisMismatchException(
            f"one layer's channels are on axis {axis}, but another's are on axis {next_axis}; give both the same axis"
        )
    return next_axis if axis is None else axis, scale * next_scale, scale * next_shift + shift


def inverse(coord_map: Map) -> Map:
    """Return the inverse of a map."""
    axis, scale, shift = coord_map
    return axis, 1 / scale, -shift / scale


def coord_map_from_to(top_from: Top, top_to: Top) -> Map:
    """Return the map from one blob to another, through a blob that both depend on."""
    maps_from = dict(_maps_back(top_from))
    for top, map_to in _maps_back(top_to):
        if top in maps_from:
            return compose(map_to, inverse(maps_from[top]))
    raise UnconnectedError(
        "there is no map between these tops; pass tops that depend on one blob through convolutions, pooling and "
        "similar layers"
    )


def _maps_back(top: Top) -> Iterator[tuple[Top, Map]]:
    """Yield the blobs that a blob depends on, nearest first, with the map to each."""
    maps: dict[Top, Map] = {top: _IDENTITY}
    queue = deque([top])
    while queue:
        current = queue.popleft()
        yield current, maps[current]
        with suppress(UndefinedMapException):
            for bottom in _mapped_bottoms(current.fn):
                if bottom not in maps:
                    maps[bottom] = compose(maps[current], coord_map(current.fn))
                    queue.append(bottom)


def _mapped_bottoms(fn: Function) -> tuple[Top, ...]:
    """Return the bottoms that a layer maps: all, except for Crop, whose second bottom only provides a size."""
    return fn.inputs[:1] if fn.type_name == "Crop" else fn.inputs


def crop(top_from: Top, top_to: Top) -> Any:
    """Return a Crop layer that crops one blob to the size and position of another."""
    axis, scale, shift = coord_map_from_to(top_from, top_to)
    if not np.all(scale == 1):
        raise CropError(
            f"one position in a blob corresponds to {scale} positions in the other: scale mismatch; give both "
            "blobs the same total stride"
        )
    if not np.all(shift <= 0):
        raise CropError(
            f"the crop would start before the blob, at {-shift}: negative offset; raise the padding of the first "
            "layer of the blob to crop"
        )
    if not np.all(np.round(shift) == shift):
        raise CropError(
            f"the crop would start between two positions, at {-shift}: noninteger offset; change the padding of "
            "a layer before it"
        )
    offset = [int(-distance) for distance in np.atleast_1d(np.round(shift))]
    return layers.Crop(top_from, top_to, crop_param={"axis": axis + 1, "offset": offset})
