"""The import of torch's operators that move values or resize images."""

from __future__ import annotations

import math

import numpy as np

from converters.from_torch.call import Call, Counterpart, Counterparts
from converters.incoming import shaping
from converters.incoming.net import NetBlob, NetWriter, Tops
from converters.incoming.resizing import PixelAlignment, bilinear, nearest, source_positions
from netdsl.errors import ConversionError


def _reshape(size: str) -> Counterpart:
    return lambda net, call: shaping.reshape(net, call.blob(), call.get(size))


def _flatten(net: NetWriter, call: Call) -> Tops:
    x = call.blob()
    axes = len(x.shape)
    start, end = call.get("start_dim") % axes, call.get("end_dim") % axes + 1
    return shaping.reshape(net, x, (*x.shape[:start], math.prod(x.shape[start:end]), *x.shape[end:]))


def _unflatten(net: NetWriter, call: Call) -> Tops:
    x = call.blob()
    axis = call.get("dim") % len(x.shape)
    return shaping.reshape(net, x, (*x.shape[:axis], *call.get("sizes"), *x.shape[axis + 1 :]))


def _squeeze(net: NetWriter, call: Call) -> Tops:
    x, dim = call.blob(), call.get("dim")
    return shaping.reshape(net, x, shaping.squeezed_shape(x.shape, [dim] if isinstance(dim, int) else dim))


def _unsqueeze(net: NetWriter, call: Call) -> Tops:
    x = call.blob()
    return shaping.reshape(net, x, shaping.unsqueezed_shape(x.shape, [call.get("dim")]))


def _permute(net: NetWriter, call: Call) -> Tops:
    x = call.blob()
    return shaping.permute(net, x, [axis % len(x.shape) for axis in call.get("dims")])


def _transpose(net: NetWriter, call: Call) -> Tops:
    x = call.blob()
    axes = len(x.shape)
    return shaping.permute(net, x, shaping.swapped_axes(axes, call.get("dim0", 0) % axes, call.get("dim1", 1) % axes))


def _cat(net: NetWriter, call: Call) -> Tops:
    return shaping.concat(net, call.blobs("tensors"), call.get("dim"))


def _stack(net: NetWriter, call: Call) -> Tops:
    parts = call.blobs("tensors")
    wide = shaping.unsqueezed_shape(parts[0].shape, [call.get("dim")])
    reshaped = [shaping.reshape(net, part, wide, f"axis{rank}") for rank, part in enumerate(parts)]
    return shaping.concat(net, reshaped, call.get("dim") % len(wide))


def _chunk(net: NetWriter, call: Call) -> Tops:
    x, axis = call.blob(), call.get("dim")
    return shaping.split(net, x, axis, _pieces(x.shape[axis], math.ceil(x.shape[axis] / call.get("chunks"))))


def _split(net: NetWriter, call: Call) -> Tops:
    x, axis, sizes = call.blob(), call.get("dim"), call.get("split_size", call.get("split_sizes"))
    return shaping.split(net, x, axis, _pieces(x.shape[axis], sizes) if isinstance(sizes, int) else sizes)


def _pieces(length: int, most: int) -> list[int]:
    return [min(most, length - start) for start in range(0, length, most)]


def _slice(net: NetWriter, call: Call) -> Tops:
    x, axis = call.blob(), call.get("dim")
    start, end = call.get("start") or 0, call.get("end")
    if call.get("step") != 1:
        raise ConversionError("step: Caffe's Slice takes no steps but 1")
    return shaping.narrow(net, x, axis, start, x.shape[axis] if end is None else end)


def _select(net: NetWriter, call: Call) -> Tops:
    return shaping.select(net, call.blob(), call.get("dim"), call.get("index"))


def _expand(net: NetWriter, call: Call) -> Tops:
    return shaping.expand(net, call.blob(), call.get("size"))


def _repeat(net: NetWriter, call: Call) -> Tops:
    return shaping.tile(net, call.blob(), call.get("repeats"))


def _same(net: NetWriter, call: Call) -> Tops:
    return call.blob()


def _pixel_shuffle(net: NetWriter, call: Call) -> Tops:
    return shaping.depth_to_space(net, call.blob(), call.get("upscale_factor"), depth_first=False)


def _pixel_unshuffle(net: NetWriter, call: Call) -> Tops:
    return shaping.space_to_depth(net, call.blob(), call.get("downscale_factor"), depth_first=False)


def _size(call: Call) -> tuple[int, ...]:
    x, output_size = _input(call), call.get("output_size")
    if output_size is not None:
        return tuple(output_size)
    scales = call.get("scale_factors") or (call.get("scales_h"), call.get("scales_w"))
    sizes = [size * scale for size, scale in zip(x.shape[2:], scales, strict=True)]
    if any(size != int(size) for size in sizes):
        raise ConversionError(f"a scale of {list(scales)} of {list(x.shape[2:])} gives no whole size")
    return tuple(map(int, sizes))


def _input(call: Call) -> NetBlob:
    return call.blob("input" if "input" in call.arguments else "self")


def _nearest(net: NetWriter, call: Call) -> Tops:
    return _resize_nearest(net, call, PixelAlignment.CORNERS, 0)


def _nearest_exact(net: NetWriter, call: Call) -> Tops:
    return _resize_nearest(net, call, PixelAlignment.MIDDLES, 0.5)


def _resize_nearest(net: NetWriter, call: Call, alignment: PixelAlignment, shift: float) -> Tops:
    x = _input(call)
    pairs = zip(x.shape[2:], _size(call), strict=True)
    return nearest(net, x, [np.floor(source_positions(old, new, alignment) + shift) for old, new in pairs])


def _bilinear(net: NetWriter, call: Call) -> Tops:
    alignment = PixelAlignment.ENDS if call.get("align_corners") else PixelAlignment.MIDDLES
    return bilinear(net, _input(call), _size(call), alignment)


COUNTERPARTS: Counterparts = {
    **dict.fromkeys(("alias", "clone", "contiguous", "detach", "lift_fresh_copy", "to", "type_as"), _same),
    "_upsample_nearest_exact2d": _nearest_exact,
    "cat": _cat,
    "chunk": _chunk,
    "expand": _expand,
    "flatten": _flatten,
    "permute": _permute,
    "pixel_shuffle": _pixel_shuffle,
    "pixel_unshuffle": _pixel_unshuffle,
    "repeat": _repeat,
    "reshape": _reshape("shape"),
    "select": _select,
    "slice": _slice,
    "split": _split,
    "split_with_sizes": _split,
    "squeeze": _squeeze,
    "stack": _stack,
    "t": _transpose,
    "transpose": _transpose,
    "unflatten": _unflatten,
    "unsqueeze": _unsqueeze,
    "upsample_bilinear2d": _bilinear,
    "upsample_nearest2d": _nearest,
    "view": _reshape("size"),
}
