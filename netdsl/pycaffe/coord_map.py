"""How coordinates in one blob are related to those in another, so that one can be cropped to fit the other.

A map is (axis, scale, shift): along every spatial axis, of which `axis` is the one before the first, a place x lies
at scale * x + shift. An axis of None is that of a layer that works on each place by itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from netdsl.errors import NetError
from netdsl.pycaffe.net_spec import Function, Top, layers

Map = tuple[Any, Any, Any]  # arrays where a window isn't square

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
    """A layer that moves values in a way that no scale and shift can say."""


class AxisMismatchException(NetError):  # noqa: N818
    """Two layers whose spatial axes are different ones."""


class UnconnectedError(NetError, RuntimeError):
    """Two blobs that no spatial layers connect."""


class CropError(NetError, AssertionError):
    """A blob that can't be cropped to another."""


def conv_params(fn: Function) -> tuple[int, Any, Any, Any]:
    """The axis of the channels, stride, size with dilation, and padding of a layer's window."""
    settings = fn.params.get("convolution_param", fn.params)
    if _BY_AXIS & {*fn.params, *settings}:
        raise CropError(f"a {fn.type_name} layer has settings by axis, such as pad_h; give pad, stride ... as lists")
    if "kernel_size" not in settings:
        raise UndefinedMapException(f"a {fn.type_name} layer has no kernel_size")
    kernel, dilation = _each(settings["kernel_size"]), _each(settings.get("dilation", 1))
    pad, stride = _each(settings.get("pad", 0)), _each(settings.get("stride", 1))
    return settings.get("axis", 1), stride, (kernel - 1) * dilation + 1, pad


def crop_params(fn: Function) -> tuple[int, Any]:
    """The first axis that a layer crops, and how much it leaves out."""
    settings = fn.params.get("crop_param", fn.params)
    return settings.get("axis", 2), _each(settings.get("offset", 0))


def _each(value: Any) -> Any:
    return np.array(value, ndmin=1)


def coord_map(fn: Function) -> Map:
    """How a layer's tops lie to its bottoms."""
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
    raise UndefinedMapException(f"a {fn.type_name} layer has no map of coordinates")


def compose(base_map: Map, next_map: Map) -> Map:
    """One map after another."""
    axis, scale, shift = base_map
    next_axis, next_scale, next_shift = next_map
    if axis is not None and next_axis is not None and axis != next_axis:
        raise AxisMismatchException(f"one layer's channels are on axis {axis}, another's on axis {next_axis}")
    return next_axis if axis is None else axis, scale * next_scale, scale * next_shift + shift


def inverse(coord_map: Map) -> Map:
    """The way back."""
    axis, scale, shift = coord_map
    return axis, 1 / scale, -shift / scale


def coord_map_from_to(top_from: Top, top_to: Top) -> Map:
    """The map from one blob to another, by way of a blob that both depend on."""
    known = dict(_maps_back(top_from))
    for top, found in _maps_back(top_to):
        if top in known:
            return compose(found, inverse(known[top]))
    raise UnconnectedError("there is no map between these tops; are they connected by spatial layers?")


def _maps_back(top: Top) -> Iterator[tuple[Top, Map]]:
    """The blobs that one depends on, nearest first, with the map to each."""
    found: dict[Top, Map] = {top: _IDENTITY}
    queue = deque([top])
    while queue:
        each = queue.popleft()
        yield each, found[each]
        with suppress(UndefinedMapException):
            for bottom in _mapped_bottoms(each.fn):
                if bottom not in found:
                    found[bottom] = compose(found[each], coord_map(each.fn))
                    queue.append(bottom)


def _mapped_bottoms(fn: Function) -> tuple[Top, ...]:
    """All bottoms lie alike, but the second of a Crop layer only says how big the top is."""
    return fn.inputs[:1] if fn.type_name == "Crop" else fn.inputs


def crop(top_from: Top, top_to: Top) -> Any:
    """A Crop layer that cuts one blob to the size and place of another."""
    axis, scale, shift = coord_map_from_to(top_from, top_to)
    if not np.all(scale == 1):
        raise CropError(f"one place in a blob is {scale} places in the other: scale mismatch")
    if not np.all(shift <= 0):
        raise CropError(f"the crop would begin before the blob, at {-shift}: negative offset")
    if not np.all(np.round(shift) == shift):
        raise CropError(f"the crop would begin between two places, at {-shift}: noninteger offset")
    offset = [int(-each) for each in np.atleast_1d(np.round(shift))]
    return layers.Crop(top_from, top_to, crop_param={"axis": axis + 1, "offset": offset})
