"""Writes ONNX's operators as Caffe layers. There is a function for each operator, and a table of all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from converters.incoming import arithmetic, shaping, windows
from converters.incoming.arithmetic import AxisReduction
from converters.incoming.net_writer import LayerConstructor, NetBlob, NetWriter, Tops, Value
from converters.incoming.windows import ConvolutionSettings, Numbers, PixelAlignment, PoolingWindows
from netdsl import dsl
from netdsl.errors import ConversionError
from netdsl.model.weights.match import AnyArray


@dataclass(frozen=True)
class OnnxNode:
    """An operator with its inputs and attributes. Optional inputs that are left out are `None`."""

    op: str
    name: str
    inputs: Sequence[Value | None]
    outputs: int
    attributes: Mapping[str, Any]
    opset: int

    def has_input(self, index: int) -> bool:
        """Return whether the node has an input at a position."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def value(self, index: int) -> Value:
        """Return an input that may be a blob or a constant."""
        value = self.inputs[index] if self.has_input(index) else None
        if value is None:
            raise ConversionError(f"input {index} is missing")
        return value

    def values(self) -> list[Value]:
        """Return all inputs."""
        return [self.value(index) for index in range(len(self.inputs))]

    def blob(self, index: int = 0) -> NetBlob:
        """Return an input that must be a blob."""
        value = self.value(index)
        if not isinstance(value, NetBlob):
            raise ConversionError(f"input {index} is a constant, but Caffe needs a blob there")
        return value

    def blobs(self) -> list[NetBlob]:
        """Return all inputs, which must be blobs."""
        return [self.blob(index) for index in range(len(self.inputs))]

    def array(self, index: int) -> AnyArray:
        """Return an input that must be a constant."""
        value = self.value(index)
        if isinstance(value, NetBlob):
            raise ConversionError(f"input {index} depends on the net's inputs, but Caffe needs a constant there")
        return value

    def optional(self, index: int) -> AnyArray | None:
        """Return a constant input, or `None` if it is left out."""
        return self.array(index) if self.has_input(index) else None

    def get(self, name: str, default: Any = None) -> Any:
        """Return an attribute, or the default if it isn't set."""
        return self.attributes.get(name, default)

    def ints(self, name: str, index: int) -> list[int] | None:
        """Return whole numbers that are an attribute in older opsets and an input in newer ones, or `None`."""
        if name in self.attributes:
            return list(self.attributes[name])
        array = self.optional(index)
        return None if array is None else [int(value) for value in array.reshape(-1)]

    def number(self, name: str, index: int, default: float) -> float:
        """Return a number that is an attribute in older opsets and an input in newer ones."""
        array = self.optional(index)
        return float(self.get(name, default)) if array is None or not array.size else float(array.item())


Operator = Callable[[NetWriter, OnnxNode], Tops]
Operators = dict[str, Operator]


def _of_blob(function: Callable[..., NetBlob], *settings: Any) -> Operator:
    """Return the conversion of an operator whose only input is a blob."""
    return lambda net, node: function(net, node.blob(), *settings)


def _pair(function: Callable[[NetWriter, Value, Value], NetBlob]) -> Operator:
    return lambda net, node: function(net, node.value(0), node.value(1))


def _layer_without_settings(constructor: LayerConstructor) -> Operator:
    """Return the conversion of an operator to one layer without settings."""
    return lambda net, node: net.layer(constructor, [node.blob()])


def _conv(net: NetWriter, node: OnnxNode) -> Tops:
    x, weight = node.blob(), node.array(1)
    dilation = _numbers(node, "dilations", weight.ndim - 2)
    extent = [(size - 1) * step + 1 for size, step in zip(weight.shape[2:], dilation, strict=True)]
    stride = _numbers(node, "strides", weight.ndim - 2)
    convolution = ConvolutionSettings(stride, *_pads(node, x, extent, stride), dilation, node.get("group", 1))
    return windows.convolve(net, x, weight, node.optional(2), convolution)


def _conv_transpose(net: NetWriter, node: OnnxNode) -> Tops:
    x, weight = node.blob(), node.array(1)
    axes = weight.ndim - 2
    stride, dilation = _numbers(node, "strides", axes), _numbers(node, "dilations", axes)
    extra = _numbers(node, "output_padding", axes, 0)
    pads = node.get("pads", [0] * 2 * axes)
    begin, end = tuple(pads[:axes]), tuple(pad - cut for pad, cut in zip(pads[axes:], extra, strict=True))
    if node.get("output_shape") or _automatic(node):
        sizes = zip(x.shape[2:], stride, weight.shape[2:], dilation, strict=True)
        unpadded = [(size - 1) * step + (kernel - 1) * hole + 1 for size, step, kernel, hole in sizes]
        target = node.get("output_shape") or [size * step for size, step in zip(x.shape[2:], stride, strict=True)]
        total = [length - target_length for length, target_length in zip(unpadded, target[-axes:], strict=True)]
        begin, end = _halved(total, _automatic(node))
    return windows.deconvolve(
        net, x, weight, node.optional(2), ConvolutionSettings(stride, begin, end, dilation, node.get("group", 1))
    )


def _numbers(node: OnnxNode, name: str, axes: int, default: int = 1) -> Numbers:
    return tuple(node.get(name) or [default] * axes)


def _automatic(node: OnnxNode) -> str:
    """Return the automatic padding of a node: SAME_UPPER, SAME_LOWER or "" for none."""
    how = str(node.get("auto_pad", "NOTSET"))
    return how if how.startswith("SAME") else ""


def _pads(node: OnnxNode, x: NetBlob, extent: Sequence[int], stride: Sequence[int]) -> tuple[Numbers, Numbers]:
    """Return the padding at both ends of every axis."""
    axes = len(extent)
    if _automatic(node):
        sizes = zip(x.shape[2:], extent, stride, strict=True)
        total = [max((math.ceil(size / step) - 1) * step + reach - size, 0) for size, reach, step in sizes]
        return _halved(total, _automatic(node))
    pads = node.get("pads") or [0] * 2 * axes
    return tuple(pads[:axes]), tuple(pads[axes:])


def _halved(total: Sequence[int], how: str) -> tuple[Numbers, Numbers]:
    smaller = tuple(pad // 2 for pad in total)
    larger = tuple(pad - pad // 2 for pad in total)
    return (larger, smaller) if how == "SAME_LOWER" else (smaller, larger)


def _gemm(net: NetWriter, node: OnnxNode) -> Tops:
    x, weight = node.blob(), node.array(1)
    if node.get("transA", 0):
        raise ConversionError("transA is set, but Caffe can't sum over the batch")
    weight = node.get("alpha", 1.0) * (weight if node.get("transB", 0) else weight.T)
    bias = node.optional(2)
    if bias is not None and bias.shape[:-1] not in ((), (1,)):
        raise ConversionError(
            f"the bias of shape {list(bias.shape)} differs within the batch, which Caffe's InnerProduct can't express"
        )
    return windows.linear(net, x, weight, None if bias is None else node.get("beta", 1.0) * bias)


def _matmul(net: NetWriter, node: OnnxNode) -> Tops:
    return windows.linear(net, node.blob(), node.array(1).T)


def _windows(node: OnnxNode, x: NetBlob) -> PoolingWindows:
    kernel = tuple(node.get("kernel_shape"))
    if {*node.get("dilations", [1])} != {1}:
        raise ConversionError("dilations are set, but Caffe's pooling doesn't support them")
    if len(x.shape) != 4 or len(kernel) != 2:
        raise ConversionError(f"Caffe pools images with 4 axes, but this blob has {len(x.shape)}")
    stride = _numbers(node, "strides", 2)
    return PoolingWindows(kernel, stride, *_pads(node, x, kernel, stride), bool(node.get("ceil_mode", 0)))


def _max_pool(net: NetWriter, node: OnnxNode) -> Tops:
    x = node.blob()
    return windows.max_pool(net, x, _windows(node, x))


def _average_pool(net: NetWriter, node: OnnxNode) -> Tops:
    x = node.blob()
    pooling = _windows(node, x)
    inside = (pooling.begin, pooling.end) if node.get("count_include_pad", 0) else ((0, 0), (0, 0))
    return windows.average_pool(net, x, pooling, pooling.areas(x, *inside))


def _pad(net: NetWriter, node: OnnxNode) -> Tops:
    x, sizes = node.blob(), node.ints("pads", 1) or node.ints("paddings", 1) or []
    axes = node.ints("axes", 3) or list(range(len(sizes) // 2))
    value, count = node.number("value", 2, 0.0), len(axes)
    begin, end = [0] * len(x.shape), [0] * len(x.shape)
    for index, axis in enumerate(axes):
        begin[axis], end[axis] = sizes[index], sizes[count + index]
    if not any(begin + end):
        return x
    if node.get("mode", "constant") != "constant" or any(begin[:2] + end[:2]):
        raise ConversionError("Caffe can pad only height and width, and only with constants")
    if not value:
        return windows.pad_image(net, x, begin[2:], end[2:])
    if not np.isfinite(value):
        raise ConversionError(f"the padding value is {value}, but it must be finite")
    shifted = windows.pad_image(net, arithmetic.affine(net, x, shift=-value, part="shift"), begin[2:], end[2:])
    return arithmetic.affine(net, shifted, shift=value, part="back")


def _pow(net: NetWriter, node: OnnxNode) -> Tops:
    if not isinstance(node.value(0), NetBlob):
        base, exponent = node.array(0), node.blob(1)
        return net.layer(dsl.Exp, [exponent], base=_single(base.size, base.reshape(-1)[:1].tolist()))
    exponents = node.array(1)
    return arithmetic.power(net, node.blob(), _single(exponents.size, exponents.reshape(-1)[:1].tolist()))


def _single(count: int, values: list[float]) -> float:
    if count != 1:
        raise ConversionError("the exponents or bases differ, but Caffe's layers accept a single number")
    return float(values[0])


def _sum(net: NetWriter, node: OnnxNode) -> Tops:
    return arithmetic.total(net, node.blobs())


def _mean(net: NetWriter, node: OnnxNode) -> Tops:
    return arithmetic.total(net, node.blobs(), 1 / len(node.inputs))


def _max(net: NetWriter, node: OnnxNode) -> Tops:
    return arithmetic.maximum(net, node.values())


def _min(net: NetWriter, node: OnnxNode) -> Tops:
    return arithmetic.minimum(net, node.values())


def _reduction(by: AxisReduction) -> Operator:
    return lambda net, node: _reduced(net, node, by)


def _reduced(net: NetWriter, node: OnnxNode, by: AxisReduction, part: str = "") -> NetBlob:
    x, axes = node.blob(), node.ints("axes", 1)
    if not axes and node.get("noop_with_empty_axes", 0):
        return x
    return arithmetic.reduce_axes(net, x, axes or range(len(x.shape)), bool(node.get("keepdims", 1)), by, part)


def _reduce_l2(net: NetWriter, node: OnnxNode) -> Tops:
    return arithmetic.power(net, _reduced(net, node, AxisReduction.SQUARES, "squares"), 0.5)


def _clip(net: NetWriter, node: OnnxNode) -> Tops:
    lower, upper = node.number("min", 1, -math.inf), node.number("max", 2, math.inf)
    return arithmetic.clip(net, node.blob(), lower, upper)


def _leaky_relu(net: NetWriter, node: OnnxNode) -> Tops:
    return arithmetic.leaky_relu(net, node.blob(), node.get("alpha", 0.01))


def _prelu(net: NetWriter, node: OnnxNode) -> Tops:
    x, slope = node.blob(), node.array(1)
    lengths = (1,) * (len(x.shape) - slope.ndim) + slope.shape
    if slope.size > 1 and lengths[1] != slope.size:
        raise ConversionError(
            f"the slopes of shape {list(slope.shape)} differ within a channel, but Caffe's PReLU has one for each "
            "channel"
        )
    return arithmetic.prelu(net, x, slope)


def _elu(net: NetWriter, node: OnnxNode) -> Tops:
    return net.layer(dsl.ELU, [node.blob()], alpha=node.get("alpha", 1.0))


def _selu(net: NetWriter, node: OnnxNode) -> Tops:
    return arithmetic.selu(net, node.blob(), node.get("alpha", 1.67326319), node.get("gamma", 1.05070102))


def _hard_sigmoid(net: NetWriter, node: OnnxNode) -> Tops:
    return arithmetic.hard_sigmoid(net, node.blob(), node.get("alpha", 0.2), node.get("beta", 0.5))


def _softmax(net: NetWriter, node: OnnxNode) -> Tops:
    return _any_softmax(net, node, logarithm=False)


def _log_softmax(net: NetWriter, node: OnnxNode) -> Tops:
    return _any_softmax(net, node, logarithm=True)


def _any_softmax(net: NetWriter, node: OnnxNode, *, logarithm: bool) -> Tops:
    if node.opset < 13:  # until opset 13, the axis and all axes after it form one row
        return arithmetic.flat_softmax(net, node.blob(), node.get("axis", 1), logarithm=logarithm)
    return arithmetic.softmax(net, node.blob(), node.get("axis", -1), logarithm=logarithm)


def _batch_norm(net: NetWriter, node: OnnxNode) -> Tops:
    if node.get("training_mode", 0):
        raise ConversionError("training_mode is set; export the model after model.eval()")
    scale, bias, mean, variance = (node.array(place) for place in range(1, 5))
    return arithmetic.batch_norm(net, node.blob(), mean, variance, node.get("epsilon", 1e-5), scale, bias)


def _dropout(net: NetWriter, node: OnnxNode) -> Tops:
    if node.has_input(2) and np.any(node.array(2)):
        raise ConversionError("training_mode is set; export the model after model.eval()")
    return arithmetic.dropout(net, node.blob(), node.number("ratio", 1, 0.5))


def _lrn(net: NetWriter, node: OnnxNode) -> Tops:
    size, alpha, beta, k = (node.get(name, default) for name, default
                            in (("size", 1), ("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0)))  # fmt: skip
    return arithmetic.local_response_norm(net, node.blob(), size, alpha, beta, k)


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
        raise ConversionError("steps differ from 1, but Caffe's Slice supports no others")
    for start, end, axis in zip(starts, ends, axes, strict=True):
        x = shaping.narrow(net, x, axis, start, end)
    return x


def _gather(net: NetWriter, node: OnnxNode) -> Tops:
    x, indices, axis = node.blob(), node.array(1), node.get("axis", 0)
    if indices.size != 1:
        raise ConversionError("several positions are selected along an axis, but Caffe can select only one")
    if indices.ndim > 1:
        raise ConversionError(f"the indices have shape {list(indices.shape)}, but Caffe can select only one position")
    index = int(indices.item()) % x.shape[axis]
    return shaping.narrow(net, x, axis, index, index + 1) if indices.ndim else shaping.select(net, x, axis, index)


def _expand(net: NetWriter, node: OnnxNode) -> Tops:
    x = node.blob()
    return shaping.expand(net, x, np.broadcast_shapes(x.shape, tuple(node.ints("shape", 1) or ())))


def _tile(net: NetWriter, node: OnnxNode) -> Tops:
    return shaping.tile(net, node.blob(), node.ints("repeats", 1) or [])


def _arg_max(net: NetWriter, node: OnnxNode) -> Tops:
    return arithmetic.arg_max(net, node.blob(), node.get("axis", 0), keep=bool(node.get("keepdims", 1)))


def _same(net: NetWriter, node: OnnxNode) -> Tops:
    return node.blob()


def _cast(net: NetWriter, node: OnnxNode) -> Tops:
    if node.get("to") not in (1, 10, 11, 16):  # float, float16, double, bfloat16
        raise ConversionError("the target type isn't floating-point, but Caffe's blobs contain only real numbers")
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
        return windows.bilinear(net, x, size, alignment)
    choose = _ROUNDING[node.get("nearest_mode", "round_prefer_floor" if node.opset > 10 else "floor")]
    return windows.nearest(
        net, x, [choose(windows.source_positions(*pair, alignment)) for pair in zip(x.shape[2:], size, strict=True)]
    )


_ROUNDING: dict[str, Callable[[AnyArray], AnyArray]] = {
    "ceil": np.ceil,
    "floor": np.floor,
    "round_prefer_ceil": lambda places: np.floor(places + 0.5),
    "round_prefer_floor": lambda places: np.ceil(places - 0.5),
}


def _transformation(node: OnnxNode) -> str:
    return str(node.get("coordinate_transformation_mode", "half_pixel" if node.opset > 10 else "asymmetric"))


def _size(node: OnnxNode, x: NetBlob) -> tuple[int, ...]:
    """Return the height and width of the result. Raises a `ConversionError` if the other axes change."""
    first = 2 if node.op == "Resize" and node.opset > 10 else 1
    sizes, attribute = node.ints("sizes", first + 1), node.get("scales")
    scales = [] if sizes else list(attribute or node.array(first).tolist())
    target = list(x.shape)
    for index, axis in enumerate(node.get("axes") or range(len(x.shape))):
        target[axis] = sizes[index] if sizes else math.floor(x.shape[axis] * scales[index])
        if not sizes and target[axis] != x.shape[axis] * scales[index]:
            raise ConversionError(f"scaling {x.shape[axis]} by {scales[index]:g} doesn't yield a whole number")
    if tuple(target[:2]) != x.shape[:2]:
        raise ConversionError("the batch or the channels are resized, but Caffe resizes only height and width")
    return tuple(target[2:])


OPERATORS: Operators = {
    "Abs": _layer_without_settings(dsl.AbsVal),
    "Add": _pair(arithmetic.add),
    "ArgMax": _arg_max,
    "AveragePool": _average_pool,
    "BatchNormalization": _batch_norm,
    "Cast": _cast,
    "Clip": _clip,
    "Concat": _concat,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "DepthToSpace": _depth_to_space,
    "Div": _pair(arithmetic.divide),
    "Dropout": _dropout,
    "Elu": _elu,
    "Exp": _layer_without_settings(dsl.Exp),
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "Gemm": _gemm,
    "GlobalAveragePool": _of_blob(windows.global_pool, "AVE"),
    "GlobalMaxPool": _of_blob(windows.global_pool, "MAX"),
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _of_blob(arithmetic.hard_swish),
    "Identity": _same,
    "LRN": _lrn,
    "LeakyRelu": _leaky_relu,
    "Log": _layer_without_settings(dsl.Log),
    "LogSoftmax": _log_softmax,
    "MatMul": _matmul,
    "Max": _max,
    "MaxPool": _max_pool,
    "Mean": _mean,
    "Min": _min,
    "Mish": _of_blob(arithmetic.mish),
    "Mul": _pair(arithmetic.multiply),
    "Neg": _of_blob(arithmetic.affine, -1),
    "PRelu": _prelu,
    "Pad": _pad,
    "Pow": _pow,
    "Reciprocal": _of_blob(arithmetic.power, -1),
    "ReduceL1": _reduction(AxisReduction.ABSOLUTE),
    "ReduceL2": _reduce_l2,
    "ReduceMax": _reduction(AxisReduction.MAX),
    "ReduceMean": _reduction(AxisReduction.MEAN),
    "ReduceSum": _reduction(AxisReduction.SUM),
    "ReduceSumSquare": _reduction(AxisReduction.SQUARES),
    "Relu": _layer_without_settings(dsl.ReLU),
    "Reshape": _reshape,
    "Resize": _resize,
    "Selu": _selu,
    "Sigmoid": _layer_without_settings(dsl.Sigmoid),
    "Slice": _slice,
    "Softmax": _softmax,
    "Softplus": _layer_without_settings(dsl.BNLL),
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Sqrt": _of_blob(arithmetic.power, 0.5),
    "Squeeze": _squeeze,
    "Sub": _pair(arithmetic.subtract),
    "Sum": _sum,
    "Tanh": _layer_without_settings(dsl.TanH),
    "Tile": _tile,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "Upsample": _resize,
}
