"""What torch is asked to do: each operation with its arithmetic, the bytes that it moves and a convolution's shape."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import conv_flop_count, flop_registry

from netdsl.layer.running import repetitions

_ATEN = torch.ops.aten
_NEW_MEMORY = {_ATEN.empty, _ATEN.empty_like, _ATEN.empty_strided, _ATEN.new_empty, _ATEN.new_empty_strided}
_FREE = _NEW_MEMORY | {_ATEN.detach, _ATEN.lift_fresh, _ATEN.set_, _ATEN._local_scalar_dense, _ATEN._unsafe_view}

Numbers = tuple[int, ...]


class OperationKind(Enum):
    """What limits an operation: arithmetic units made for products, or memory."""

    CONVOLUTION = "convolution"
    PRODUCT = "product"  # of matrices
    OTHER = "other"


class ConvolutionPass(Enum):
    """What a convolution computes from the two others: its top, or a gradient."""

    TOP = "top"
    BOTTOM_GRADIENT = "bottom gradient"
    WEIGHT_GRADIENT = "weight gradient"


@dataclass(frozen=True)
class ConvolutionShape:
    """The sizes of a convolution over images. One over lines has a height of 1, one over volumes several images.

    A deconvolution is the bottom gradient of a convolution, and so has that one's shape: `channels`, `height` and
    `width` are those of its top.
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
    """One operation: a multiplication and an addition are two `flops`; `bytes` are read and written.

    What isn't a product has one of `flops` for each value of its largest tensor. Pooling has a `window`: of how many
    values it makes one.
    """

    name: str
    flops: int
    bytes: int
    kind: OperationKind = OperationKind.OTHER
    convolution: ConvolutionShape | None = None
    convolution_pass: ConvolutionPass | None = None
    window: int = 1


class OperationRecorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes the operations of what runs in its context, in `operations`. Views of memory are none."""

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
    """The bytes of a tensor's values; those that it only repeats count once."""
    sizes = zip(tensor.shape, tensor.stride(), strict=True) if tensor.layout is torch.strided else []
    return tensor.element_size() * math.prod(size for size, stride in sizes if stride or not size)


def operations_of(
    func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any
) -> Iterator[TensorOperation]:
    """The operations that a call of one of torch's functions is, as a dispatch mode sees it."""
    if func.namespace != "aten" or func.is_view or func.overloadpacket in _FREE:
        return
    if func.overloadpacket is _ATEN.convolution:
        yield _convolution(args, result)
    elif func.overloadpacket is _ATEN.convolution_backward:
        yield from _convolution_gradients(args, result)
    else:
        yield _product_or_other(func, args, kwargs, result)


def tensors_in(values: Any) -> list[Tensor]:
    """The tensors somewhere in some values."""
    return [value for value in tree_leaves(values) if isinstance(value, Tensor)]


def _product_or_other(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> TensorOperation:
    name, tensors = func.overloadpacket.__name__, tensors_in((args, kwargs, result))
    moved = sum(map(tensor_bytes, tensors))
    count = flop_registry.get(func.overloadpacket)
    if count is None:
        largest = max((tensor.numel() for tensor in tensors), default=0)
        return TensorOperation(name, largest, moved, window=_window(func, args))
    return TensorOperation(name, int(count(*args, **kwargs, out_val=result)), moved, OperationKind.PRODUCT)


def _window(func: Any, args: tuple[Any, ...]) -> int:
    """How many values a pooling's kernel covers, which torch gives by position."""
    named = zip((argument.name for argument in func._schema.arguments), args, strict=False)
    return next((math.prod(_plane(value)) for name, value in named if name == "kernel_size"), 1)


def _convolution(args: tuple[Any, ...], top: Tensor) -> TensorOperation:
    bottom, weight, bias, *settings = args
    transposed = settings[3]
    flops = conv_flop_count(list(bottom.shape), list(weight.shape), list(top.shape), transposed)
    moved = sum(map(tensor_bytes, tensors_in((bottom, weight, bias, top))))
    shape = _shape(bottom.shape, weight.shape, top.shape, settings)
    part = ConvolutionPass.BOTTOM_GRADIENT if transposed else ConvolutionPass.TOP
    return TensorOperation("convolution", flops, moved, OperationKind.CONVOLUTION, shape, part)


def _convolution_gradients(args: tuple[Any, ...], gradients: Sequence[Tensor | None]) -> Iterator[TensorOperation]:
    """One operation for each of the gradients that are needed; that of the bias is found along with another one."""
    top_gradient, bottom, weight, _, *settings, mask = args
    transposed = settings[3]
    shape = _shape(bottom.shape, weight.shape, top_gradient.shape, settings)
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


def _shape(
    bottom: Sequence[int], weight: Sequence[int], top: Sequence[int], settings: Sequence[Any]
) -> ConvolutionShape:
    """The sizes of a convolution; the settings are stride, padding, dilation, whether it's transposed, and groups."""
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
        *_plane(size),
        *_plane(top_size),
        *_plane(kernel),
        _plane(strides),
        _plane(pads, 0),
        _plane(dilations),
        groups,
    )


def _plane(numbers: Sequence[int], missing: int = 1) -> tuple[int, int]:
    """The last two of some numbers, one for each spatial axis."""
    pair = [missing, missing, *numbers][-2:]
    return int(pair[0]), int(pair[1])
