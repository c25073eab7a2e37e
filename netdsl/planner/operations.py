"""The operations that torch executes, with their arithmetic and their bytes. Also works on tensors without values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.fx.experimental import _config
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only
from torch.utils.flop_counter import conv_flop_count, flop_registry

from netdsl.layer import Shape
from netdsl.layer.running import NeedsValues, meta_stands_for, repetitions
from netdsl.net.build import Built
from netdsl.net.compute_precision import ComputePrecision

_ATEN = torch.ops.aten
_NEW_MEMORY = {_ATEN.empty, _ATEN.empty_like, _ATEN.empty_strided, _ATEN.new_empty, _ATEN.new_empty_strided}
_FREE = _NEW_MEMORY | {_ATEN.detach, _ATEN.lift_fresh, _ATEN.set_, _ATEN._local_scalar_dense, _ATEN._unsafe_view}

Numbers = tuple[int, ...]
_PRODUCTS = {
    *(F.linear, torch.matmul, torch.mm, torch.mv, torch.bmm, torch.addmm, torch.baddbmm, torch.einsum),
    *(F.conv1d, F.conv2d, F.conv3d, F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d),
    *(Tensor.matmul, Tensor.__matmul__, Tensor.mm, Tensor.bmm),
}


class OperationKind(Enum):
    """The limit of an operation's speed: matrix units, or memory."""

    CONVOLUTION = "convolution"
    PRODUCT = "product"  # matrix product
    OTHER = "other"


class ConvolutionPass(Enum):
    """The tensor that a convolution computes from the other two: its top, or one of the gradients."""

    TOP = "top"
    BOTTOM_GRADIENT = "bottom gradient"
    WEIGHT_GRADIENT = "weight gradient"


@dataclass(frozen=True)
class ConvolutionShape:
    """The sizes of a convolution over images. A convolution over lines has a height of 1, and one over volumes several
    images.

    A deconvolution is the bottom gradient of a convolution and has its shape. Its `channels`, `height` and `width` are
    then those of its top.
    """

    batch: int
    channels: int
    filters: int
    height: int
    width: int
    top_height: int
    top_width: int
    kernel_height: int
    kernel_width: int
    stride: tuple[int, int]
    pad: tuple[int, int]
    dilation: tuple[int, int]
    groups: int


@dataclass(frozen=True)
class TensorOperation:
    """One operation. A multiplication and an addition count as two `flops`. `bytes` are read and written.

    An operation that isn't a product counts one of `flops` for each value of its largest tensor. `window` is the number
    of values that pooling combines into one.
    """

    name: str
    flops: int
    bytes: int
    kind: OperationKind = OperationKind.OTHER
    convolution: ConvolutionShape | None = None
    convolution_pass: ConvolutionPass | None = None
    window: int = 1


class OperationRecorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes the operations that run in its context, in `operations`. Views of memory don't count."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operations: list[TensorOperation] = []

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        self.operations.extend(list(operations_of(func, args, kwargs, result)) * repetitions())
        return result


def tensor_bytes(tensor: Tensor) -> int:
    """Return the bytes of a tensor's values. Values that are only repeated count once."""
    sizes = zip(tensor.shape, tensor.stride(), strict=True) if tensor.layout is torch.strided else []
    return tensor.element_size() * math.prod(size for size, stride in sizes if stride or not size)


def operations_of(
    func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any
) -> Iterator[TensorOperation]:
    """Yield the operations in a call of one of torch's functions, as a dispatch mode sees it."""
    if func.namespace != "aten" or func.is_view or func.overloadpacket in _FREE:
        return
    if func.overloadpacket is _ATEN.convolution:
        yield _convolution(args, result)
    elif func.overloadpacket is _ATEN.convolution_backward:
        yield from _convolution_gradients(args, result)
    else:
        yield _product_or_other(func, args, kwargs, result)


def tensors_in(values: Any) -> list[Tensor]:
    """Return all tensors that are nested in some values."""
    return [value for value in tree_leaves(values) if isinstance(value, Tensor)]


def _product_or_other(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> TensorOperation:
    name, tensors = func.overloadpacket.__name__, tensors_in((args, kwargs, result))
    moved = sum(map(tensor_bytes, tensors))
    count = flop_registry.get(func.overloadpacket)
    if count is None:
        largest = max((tensor.numel() for tensor in tensors), default=0)
        return TensorOperation(name, largest, moved, window=_window_size(func, args))
    return TensorOperation(name, int(count(*args, **kwargs, out_val=result)), moved, OperationKind.PRODUCT)


def _window_size(func: Any, args: tuple[Any, ...]) -> int:
    """Return the number of values in a pooling's window. Torch passes its size by position."""
    named = zip((argument.name for argument in func._schema.arguments), args, strict=False)
    return next((math.prod(_last_two(value)) for name, value in named if name == "kernel_size"), 1)


def _convolution(args: tuple[Any, ...], top: Tensor) -> TensorOperation:
    bottom, weight, bias, *settings = args
    transposed = settings[3]
    flops = conv_flop_count(list(bottom.shape), list(weight.shape), list(top.shape), transposed)
    moved = sum(map(tensor_bytes, tensors_in((bottom, weight, bias, top))))
    shape = _shape_of(bottom.shape, weight.shape, top.shape, settings)
    part = ConvolutionPass.BOTTOM_GRADIENT if transposed else ConvolutionPass.TOP
    return TensorOperation("convolution", flops, moved, OperationKind.CONVOLUTION, shape, part)


def _convolution_gradients(args: tuple[Any, ...], gradients: Sequence[Tensor | None]) -> Iterator[TensorOperation]:
    """Yield one operation for each needed gradient. The gradient of the bias is computed along with another one."""
    top_gradient, bottom, weight, _, *settings, mask = args
    transposed = settings[3]
    shape = _shape_of(bottom.shape, weight.shape, top_gradient.shape, settings)
    flops = conv_flop_count(list(bottom.shape), list(weight.shape), list(top_gradient.shape), transposed)
    if mask[0]:
        part = ConvolutionPass.TOP if transposed else ConvolutionPass.BOTTOM_GRADIENT
        moved = sum(map(tensor_bytes, (top_gradient, weight, bottom)))
        yield TensorOperation("convolution_backward", flops, moved, OperationKind.CONVOLUTION, shape, part)
    if mask[1]:
        moved = sum(map(tensor_bytes, (top_gradient, bottom, weight)))
        part = ConvolutionPass.WEIGHT_GRADIENT
        yield TensorOperation("convolution_backward", flops, moved, OperationKind.CONVOLUTION, shape, part)
    if mask[2] and not mask[1]:
        moved = sum(map(tensor_bytes, tensors_in((top_gradient, gradients[2]))))
        yield TensorOperation("sum", top_gradient.numel(), moved)


def _shape_of(
    bottom: Sequence[int], weight: Sequence[int], top: Sequence[int], settings: Sequence[Any]
) -> ConvolutionShape:
    """Return the sizes of a convolution. The settings are stride, padding, dilation, whether it is transposed, and
    groups."""
    strides, pads, dilations, transposed, _, groups = settings
    if transposed:
        bottom, top = top, bottom
    kernel, size, top_size = weight[2:], bottom[2:], top[2:]
    outer = len(kernel) - 2
    images = math.prod(top_size[:outer]) * math.prod(kernel[:outer]) if outer > 0 else 1
    return ConvolutionShape(
        bottom[0] * images,
        bottom[1],
        top[1],
        *_last_two(size),
        *_last_two(top_size),
        *_last_two(kernel),
        _last_two(strides),
        _last_two(pads, 0),
        _last_two(dilations),
        groups,
    )


def _last_two(numbers: Sequence[int], missing: int = 1) -> tuple[int, int]:
    """Return the last two of some numbers, which are one for each spatial axis."""
    pair = [missing, missing, *numbers][-2:]
    return int(pair[0]), int(pair[1])


@contextmanager
def without_values(
    built: Built, device: torch.device, precision: ComputePrecision = ComputePrecision.EXACT
) -> Iterator[None]:
    """Put the blobs of all layers on meta inside the context, where layers behave as on the device in this precision.

    A layer that reads a value gets 0. A layer that searches for nonzero values finds that all of them are.
    """
    with ExitStack() as stack:
        stack.enter_context(meta_stands_for(device))
        if device.type != "cpu":
            stack.enter_context(_FusedDropout())
        if precision.half is not None:
            stack.enter_context(_HalfProducts(precision.half))
        stack.enter_context(_ZeroValues())  # type: ignore[no-untyped-call]
        stack.enter_context(_config.patch(meta_nonzero_assume_all_nonzero=True))  # type: ignore[attr-defined]
        stack.enter_context(_empty_blobs(built))
        stack.enter_context(_stand_ins(built))
        yield


class _FusedDropout(TorchFunctionMode):
    """Mimics torch's dropout on a GPU, which keeps a byte for each value. Elsewhere dropout keeps a factor."""

    def __torch_function__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is F.dropout and kwargs["training"]:
            return torch.native_dropout(args[0], kwargs["p"], True)[0]
        return func(*args, **kwargs)


class _HalfProducts(TorchFunctionMode):
    """Mimics torch's autocast, which doesn't support meta. It rounds the factors of products to numbers of two
    bytes."""

    def __init__(self, half: torch.dtype) -> None:
        super().__init__()
        self._half = half

    def __torch_function__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func in _PRODUCTS:
            args, kwargs = tree_map_only(Tensor, self._to_half_and_back, (args, kwargs))
        return func(*args, **(kwargs or {}))

    def _to_half_and_back(self, values: Tensor) -> Tensor:
        return values.to(self._half) if values.dtype is torch.float32 else values


class _ZeroValues(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Returns 0 when a value is read, as by a layer that checks labels."""

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func is _ATEN._local_scalar_dense.default:
            return _zero_of(args[0])
        if func is _ATEN.equal.default:
            return True
        return func(*args, **(kwargs or {}))


def _zero_of(tensor: Tensor) -> bool | int | float:
    if tensor.dtype is torch.bool:
        return False
    return 0.0 if tensor.is_floating_point() else 0


@contextmanager
def _empty_blobs(built: Built) -> Iterator[None]:
    """Replace all blobs and other buffers with tensors without memory. Shared blobs stay shared."""
    places: list[tuple[dict[str, Any], str, Tensor]] = [
        (tensors, name, tensor)
        for layer in built.layers
        for module in layer.modules()
        for tensors in (module._parameters, module._buffers)
        for name, tensor in tensors.items()
        if tensor is not None
    ]
    empties = {id(tensor): _empty_like(tensor) for _, _, tensor in places}
    for tensors, name, tensor in places:
        tensors[name] = empties[id(tensor)]
    try:
        yield
    finally:
        for tensors, name, tensor in places:
            tensors[name] = tensor


def _empty_like(tensor: Tensor) -> Tensor:
    empty = torch.empty(tensor.shape, dtype=tensor.dtype, device="meta")
    return nn.Parameter(empty, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else empty


@contextmanager
def _stand_ins(built: Built) -> Iterator[None]:
    """Let layers that need values only create tops of the right shapes, through which gradients flow."""
    layers = [(node, layer) for node, layer in built.pairs() if isinstance(layer, NeedsValues)]
    for node, layer in layers:
        shapes = [built.shapes[edge] for edge in node.tops]
        layer.__dict__["forward"] = partial(_UnknownFunction.apply, shapes, layer.no_gradient)
    try:
        yield
    finally:
        for _, layer in layers:
            del layer.__dict__["forward"]


class _UnknownFunction(torch.autograd.Function):
    """A function that keeps its bottoms for the backward pass, in which they receive gradients."""

    @staticmethod
    def forward(ctx: Any, shapes: Sequence[Shape], no_gradient: Sequence[int], *bottoms: Tensor) -> tuple[Tensor, ...]:
        ctx.save_for_backward(*bottoms)
        ctx.no_gradient = no_gradient
        return tuple(torch.empty(shape, device="meta") for shape in shapes)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        places = enumerate(ctx.saved_tensors)
        return None, None, *(None if at in ctx.no_gradient else torch.empty_like(bottom) for at, bottom in places)
