"""The import of ONNX's operators that move values or resize images."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from converters.from_onnx.node import OnnxNode, Operators
from converters.incoming import shaping
from converters.incoming.net import NetBlob, NetWriter, Tops
from converters.incoming.reduction import arg_max
from converters.incoming.resizing import PixelAlignment, bilinear, nearest, source_positions
from netdsl.errors import ConversionError
from netdsl.weights.match import AnyArray


def _reshape(net: NetWriter, node: OnnxNode) -> Tops:
    x, target = node.blob(), node.ints("shape", 1) or []
    if not node.get("allowzero", 0):
        target = [x.shape[axis] if size == 0 and axis < len(x.shape) else size for axis, size in enumerate(target)]
    return shaping.reshape(net, x, target)


def _flatten(net: NetWriter, node: OnnxNode) -> Tops:
    x, axis = node.blob(), node.get("axis", 1)
    axis += len(x.shape) if axis < 0 else 0
    return shaping.reshape(net, x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


def _squeeze(net: NetWriter, node: OnnxNode) -> Tops:
    x = node.blob()
    return shaping.reshape(net, x, shaping.squeezed_shape(x.shape, node.ints("axes", 1)))


def _unsqueeze(net: NetWriter, node: OnnxNode) -> Tops:
    x = node.blob()
    return shaping.reshape(net, x, shaping.unsqueezed_shape(x.shape, node.ints("axes", 1) or []))


def _transpose(net: NetWriter, node: OnnxNode) -> Tops:
    x = node.blob()
    return shaping.permute(net, x, node.get("perm") or range(len(x.shape))[::-1])


def _concat(net: NetWriter, node: OnnxNode) -> Tops:
    return shaping.concat(net, node.blobs(), node.get("axis"))


def _split(net: NetWriter, node: OnnxNode) -> Tops:
    x, axis, sizes = node.blob(), node.get("axis", 0), node.ints("split", 1)
    if sizes is None:
        length, count = x.shape[axis], node.outputs
        most = math.ceil(length / count)
        sizes = [min(most, length - start) for start in range(0, length, most)]
    return shaping.split(net, x, axis, sizes)


def _slice(net: NetWriter, node: OnnxNode) -> Tops:
    x, starts, ends = node.blob(), node.ints("starts", 1) or [], node.ints("ends", 2) or []
    axes = node.ints("axes", 3) or list(range(len(starts)))
    if {*(node.ints("steps", 4) or [1])} != {1}:
        raise ConversionError("steps: Caffe's Slice takes no steps but 1")
    for start, end, axis in zip(starts, ends, axes, strict=True):
        x = shaping.narrow(net, x, axis, start, end)
    return x


def _gather(net: NetWriter, node: OnnxNode) -> Tops:
    x, indices, axis = node.blob(), node.array(1), node.get("axis", 0)
    if indices.size != 1:
        raise ConversionError("Caffe can take one place along an axis, not several")
    if indices.ndim > 1:
        raise ConversionError(f"Caffe can't take places in the shape {list(indices.shape)}")
    index = int(indices.item()) % x.shape[axis]
    return shaping.narrow(net, x, axis, index, index + 1) if indices.ndim else shaping.select(net, x, axis, index)


def _expand(net: NetWriter, node: OnnxNode) -> Tops:
    x = node.blob()
    return shaping.expand(net, x, np.broadcast_shapes(x.shape, tuple(node.ints("shape", 1) or ())))


def _tile(net: NetWriter, node: OnnxNode) -> Tops:
    return shaping.tile(net, node.blob(), node.ints("repeats", 1) or [])


def _arg_max(net: NetWriter, node: OnnxNode) -> Tops:
    return arg_max(net, node.blob(), node.get("axis", 0), keep=bool(node.get("keepdims", 1)))


def _same(net: NetWriter, node: OnnxNode) -> Tops:
    return node.blob()


def _cast(net: NetWriter, node: OnnxNode) -> Tops:
    if node.get("to") not in (1, 10, 11, 16):  # float, float16, double, bfloat16
        raise ConversionError("Caffe's blobs are real numbers")
    return node.blob()


def _depth_to_space(net: NetWriter, node: OnnxNode) -> Tops:
    depth_first = node.get("mode", "DCR") == "DCR"
    return shaping.depth_to_space(net, node.blob(), node.get("blocksize"), depth_first=depth_first)


def _space_to_depth(net: NetWriter, node: OnnxNode) -> Tops:
    return shaping.space_to_depth(net, node.blob(), node.get("blocksize"), depth_first=True)


def _resize(net: NetWriter, node: OnnxNode) -> Tops:
    x, mode = node.blob(), node.get("mode", "nearest")
    size, antialias = _size(node, x), node.get("antialias", 0)
    try:
        alignment = PixelAlignment(_transformation(node))
    except ValueError:
        raise ConversionError(f"coordinate_transformation_mode {_transformation(node)}") from None
    if antialias or mode not in ("nearest", "linear"):
        raise ConversionError(f"mode {mode}{' with antialias' if antialias else ''}")
    if mode == "linear":
        return bilinear(net, x, size, alignment)
    choose = _ROUNDING[node.get("nearest_mode", "round_prefer_floor" if node.opset > 10 else "floor")]
    return nearest(net, x, [choose(source_positions(*pair, alignment)) for pair in zip(x.shape[2:], size, strict=True)])


_ROUNDING: dict[str, Callable[[AnyArray], AnyArray]] = {
    "ceil": np.ceil,
    "floor": np.floor,
    "round_prefer_ceil": lambda places: np.floor(places + 0.5),
    "round_prefer_floor": lambda places: np.ceil(places - 0.5),
}


def _transformation(node: OnnxNode) -> str:
    return str(node.get("coordinate_transformation_mode", "half_pixel" if node.opset > 10 else "asymmetric"))


def _size(node: OnnxNode, x: NetBlob) -> tuple[int, ...]:
    """The height and width of the result; the other axes must not change."""
    first = 2 if node.op == "Resize" and node.opset > 10 else 1
    sizes, attribute = node.ints("sizes", first + 1), node.get("scales")
    scales = [] if sizes else list(attribute or node.array(first).tolist())
    target = list(x.shape)
    for index, axis in enumerate(node.get("axes") or range(len(x.shape))):
        target[axis] = sizes[index] if sizes else math.floor(x.shape[axis] * scales[index])
        if not sizes and target[axis] != x.shape[axis] * scales[index]:
            raise ConversionError(f"a scale of {scales[index]:g} of {x.shape[axis]} gives no whole size")
    if tuple(target[:2]) != x.shape[:2]:
        raise ConversionError("resizes the batch or the channels")
    return tuple(target[2:])


OPERATORS: Operators = {
    "ArgMax": _arg_max,
    "Cast": _cast,
    "Concat": _concat,
    "DepthToSpace": _depth_to_space,
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "Identity": _same,
    "Reshape": _reshape,
    "Resize": _resize,
    "Slice": _slice,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "Upsample": _resize,
}
