"""Running a net on tensors that have shapes but neither memory nor values, on the paths that a device would take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.fx.experimental import _config
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

from netdsl.layer import Shape
from netdsl.layer.running import NeedsValues, meta_stands_for
from netdsl.net.build import Built
from netdsl.net.compute_precision import ComputePrecision

_ATEN = torch.ops.aten


@contextmanager
def without_values(
    built: Built, device: torch.device, precision: ComputePrecision = ComputePrecision.EXACT
) -> Iterator[None]:
    """Inside, the blobs of all layers are on meta, and layers do there what they do on the device in a precision.

    A layer that asks for a value gets 0, and one that asks which of its values are chosen gets all of them.
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
    """What torch does by itself on a GPU only: dropout keeps a byte for each value, elsewhere a factor."""

    def __torch_function__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is F.dropout and kwargs["training"]:
            return torch.native_dropout(args[0], kwargs["p"], True)[0]
        return func(*args, **kwargs)


_PRODUCTS = {
    *(F.linear, torch.matmul, torch.mm, torch.mv, torch.bmm, torch.addmm, torch.baddbmm, torch.einsum),
    *(F.conv1d, F.conv2d, F.conv3d, F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d),
    *(Tensor.matmul, Tensor.__matmul__, Tensor.mm, Tensor.bmm),
}


class _HalfProducts(TorchFunctionMode):
    """What torch's autocast does, but not on meta: the factors of products are rounded to numbers of two bytes."""

    def __init__(self, half: torch.dtype) -> None:
        super().__init__()
        self._half = half

    def __torch_function__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func in _PRODUCTS:
            args, kwargs = tree_map_only(Tensor, self._rounded, (args, kwargs))
        return func(*args, **(kwargs or {}))

    def _rounded(self, values: Tensor) -> Tensor:
        return values.to(self._half) if values.dtype is torch.float32 else values


class _ZeroValues(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Gives 0 where a value is asked for, as by a layer that looks for wrong labels."""

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func is _ATEN._local_scalar_dense.default:
            return _zero(args[0])
        if func is _ATEN.equal.default:
            return True
        return func(*args, **(kwargs or {}))


def _zero(tensor: Tensor) -> bool | int | float:
    if tensor.dtype is torch.bool:
        return False
    return 0.0 if tensor.is_floating_point() else 0


@contextmanager
def _empty_blobs(built: Built) -> Iterator[None]:
    """Put tensors without memory into the places of all blobs and other buffers; those that are shared stay shared."""
    places: list[tuple[dict[str, Any], str, Tensor]] = [
        (tensors, name, tensor)
        for layer in built.layers
        for module in layer.modules()
        for tensors in (module._parameters, module._buffers)
        for name, tensor in tensors.items()
        if tensor is not None
    ]
    empties = {id(tensor): _empty(tensor) for _, _, tensor in places}
    for tensors, name, tensor in places:
        tensors[name] = empties[id(tensor)]
    try:
        yield
    finally:
        for tensors, name, tensor in places:
            tensors[name] = tensor


def _empty(tensor: Tensor) -> Tensor:
    empty = torch.empty(tensor.shape, dtype=tensor.dtype, device="meta")
    return nn.Parameter(empty, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else empty


@contextmanager
def _stand_ins(built: Built) -> Iterator[None]:
    """Let layers that need values only make tops of the right shapes, through which gradients go."""
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
    """Something that keeps its bottoms for a backward pass, in which they get gradients."""

    @staticmethod
    def forward(ctx: Any, shapes: Sequence[Shape], no_gradient: Sequence[int], *bottoms: Tensor) -> tuple[Tensor, ...]:
        ctx.save_for_backward(*bottoms)
        ctx.no_gradient = no_gradient
        return tuple(torch.empty(shape, device="meta") for shape in shapes)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        places = enumerate(ctx.saved_tensors)
        return None, None, *(None if at in ctx.no_gradient else torch.empty_like(bottom) for at, bottom in places)
