"""Running a net on tensors that have shapes but neither memory nor values, on the paths that a device would take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from netdsl.net.build import Built

_ATEN = torch.ops.aten


@contextmanager
def without_values(built: Built, device: torch.device) -> Iterator[torch.device]:
    """Inside, the blobs of all layers have no memory, and layers do what they do on the device.

    What comes is the device for tensors that are made inside. On a CPU they are fake tensors, which say that they are
    there; so a layer that asks for the device takes the same way. torch can't differentiate fake tensors of a GPU that
    this machine hasn't. So for other devices they are on meta, where layers take the way of a GPU, and torch does with
    one exception, dropout.
    """
    with ExitStack() as stack:
        if device.type == "cpu":
            stack.enter_context(FakeTensorMode(allow_non_fake_inputs=True))
        else:
            device = torch.device("meta")
            stack.enter_context(_FusedDropout())
        stack.enter_context(_ZeroValues())  # type: ignore[no-untyped-call]
        stack.enter_context(_empty_blobs(built, device))
        yield device


class _FusedDropout(TorchFunctionMode):
    """A GPU keeps one byte for each value that was left out, where torch on meta keeps a factor for each."""

    def __torch_function__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is F.dropout and kwargs["training"]:
            return torch.native_dropout(args[0], kwargs["p"], True)[0]
        return func(*args, **kwargs)


class _ZeroValues(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Says that a value is zero where a layer asks for one, as when it looks for wrong labels."""

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func is _ATEN._local_scalar_dense.default:
            return _zero(args[0])
        return func(*args, **(kwargs or {}))


def _zero(tensor: Tensor) -> bool | int | float:
    if tensor.dtype is torch.bool:
        return False
    return 0.0 if tensor.is_floating_point() else 0


@contextmanager
def _empty_blobs(built: Built, device: torch.device) -> Iterator[None]:
    """Put tensors without memory into the places of all blobs and other buffers; those that are shared stay shared."""
    places: list[tuple[dict[str, Any], str, Tensor]] = [
        (tensors, name, tensor)
        for layer in built.layers
        for module in layer.modules()
        for tensors in (module._parameters, module._buffers)
        for name, tensor in tensors.items()
        if tensor is not None
    ]
    empties = {id(tensor): _empty(tensor, device) for _, _, tensor in places}
    for tensors, name, tensor in places:
        tensors[name] = empties[id(tensor)]
    try:
        yield
    finally:
        for tensors, name, tensor in places:
            tensors[name] = tensor


def _empty(tensor: Tensor, device: torch.device) -> Tensor:
    empty = torch.empty(tensor.shape, dtype=tensor.dtype, device=device)
    return nn.Parameter(empty, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else empty
