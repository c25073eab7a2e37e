"""Tensors of which each rank has a part, while the script sees the whole batch.

A `BatchTensor` contains a rank's own values and their relation to the whole. They are a `Part` of its items, or a value
whose mean over the ranks is the whole's value (`RANK_MEAN`). A rule for each operation computes the values and
placement of the result from its arguments. Without a rule, the whole is gathered and every rank computes it, which is
right for any operation. All of the script's other tensors and numbers are the same on all ranks.

Gradients follow one convention. For tensors that all ranks share, such as parameters, the mean over the ranks is the
true gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils import _pytree as pytree

from netdsl.errors import DistributedError
from netdsl.transparent.ranks import ScriptRanks

Function = Callable[..., Any]
Rule = Callable[[Function, tuple[Any, ...], dict[str, Any]], Any]

RULES: dict[Function, list[Rule]] = {}
_IN_PLACE = {"add", "sub", "mul", "div", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"}
_PLACES = (torch, torch.Tensor, functional, torch.special, torch.linalg)


@dataclass(frozen=True)
class Part:
    """A rank's part of `items` along a dimension. Each item has `granule` consecutive rows."""

    dim: int
    items: int
    granule: int = 1


class Shared(Enum):
    """The relations of values that don't belong to single items."""

    RANK_MEAN = "mean"  # the value is the mean of the ranks' values


RANK_MEAN = Shared.RANK_MEAN
Placement = Part | Shared


class BatchTensor(Tensor):
    """A rank's own values, which look like the whole batch's to the script."""

    ranks: ClassVar[ScriptRanks]  # of this process
    placement: Placement

    @classmethod
    def __torch_function__(
        cls, func: Function, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Compute with the operation's rule, or otherwise on the whole batch."""
        with torch._C.DisableTorchFunctionSubclass():
            return _compute_placed(func, args, kwargs or {})


def place(values: Tensor, placement: Placement) -> BatchTensor:
    """Return a rank's values with their relation to the whole."""
    placed = values.as_subclass(BatchTensor)
    placed.placement = placement
    return placed


def place_like(result: Any, placement: Placement) -> Any:
    """Return the results of an operation with one placement. Tensors that were changed in place are returned
    unchanged."""
    if isinstance(result, BatchTensor):
        return result
    if isinstance(result, Tensor):
        return place(result, placement)
    if isinstance(result, (tuple, list)):
        return type(result)([place_like(value, placement) for value in result])
    return result


def whole_shape(tensor: Tensor) -> torch.Size:
    """Return the shape that the script sees."""
    shape = list(tensor.shape)
    if isinstance(tensor, BatchTensor) and isinstance(tensor.placement, Part):
        shape[tensor.placement.dim] = tensor.placement.items * tensor.placement.granule
    return torch.Size(shape)


def own_part(whole: Tensor, placement: Part, dim: int | None = None) -> Tensor:
    """Return this rank's part of a tensor that all ranks have."""
    part = BatchTensor.ranks.part(placement.items)
    length = (part.stop - part.start) * placement.granule
    return whole.narrow(placement.dim if dim is None else dim, part.start * placement.granule, length)


def fraction(placement: Part) -> float:
    """Return the ratio of this rank's number of items to an even share."""
    part = BatchTensor.ranks.part(placement.items)
    share: float = (part.stop - part.start) * BatchTensor.ranks.size / placement.items
    return share


def scaled(tensor: Tensor, factor: float) -> Tensor:
    """Return a multiple of a tensor, or the tensor itself if the factor is 1."""
    return tensor if factor == 1 else tensor * (int(factor) if factor == int(factor) else factor)


def whole(tensor: Tensor) -> Tensor:
    """Return the whole batch's values, gathered on all ranks. Gradients go back through the exchange."""
    if not isinstance(tensor, BatchTensor):
        return tensor
    with torch._C.DisableTorchFunctionSubclass():
        if not isinstance(tensor.placement, Part):
            return mean_of_ranks(tensor)
        gathered: Tensor = _Gather.apply(tensor, tensor.placement)  # type: ignore[no-untyped-call]
        return gathered


def mean_of_ranks(tensor: Tensor) -> Tensor:
    """Return the mean of the ranks' values. Gradients go back through the exchange."""
    mean: Tensor = _Mean.apply(tensor)  # type: ignore[no-untyped-call]
    return mean


class _Mean(torch.autograd.Function):
    """The mean over the ranks. Each rank's gradient of it is a share of the true one, so the backward pass is a mean
    too."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> Tensor:
        return BatchTensor.ranks.mean(tensor)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return mean_of_ranks(gradient)


class _Gather(torch.autograd.Function):
    """The parts of all ranks, one after the other. Each item belongs to one rank, so its gradient counts for all
    ranks."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, placement: Part) -> Tensor:
        ctx.placement = placement
        return BatchTensor.ranks.gather(tensor, placement.dim, placement.items)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return own_part(mean_of_ranks(gradient), ctx.placement) * BatchTensor.ranks.size, None


def batch_tensors(*values: Any) -> Iterator[BatchTensor]:
    """Yield the batch tensors among the arguments."""
    for value in pytree.tree_leaves(values):
        if isinstance(value, BatchTensor):
            yield value


def has_batch_tensor(*values: Any) -> bool:
    """Return whether the arguments contain a batch tensor."""
    return next(batch_tensors(*values), None) is not None


def _compute_placed(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    result = _by_rule(func, args, kwargs)
    if result is not NotImplemented:
        return result
    if len({type(tensor.placement) for tensor in batch_tensors(args, kwargs)}) > 1:
        args, kwargs = pytree.tree_map(_without_rank_means, (args, kwargs))
        result = _by_rule(func, args, kwargs)
        if result is not NotImplemented:
            return result
    return _on_whole(func, args, kwargs)


def _by_rule(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    for rule in RULES.get(func, ()):
        result = rule(func, args, kwargs)
        if result is not NotImplemented:
            return result
    return NotImplemented


def _without_rank_means(value: Any) -> Any:
    return whole(value) if isinstance(value, BatchTensor) and value.placement is RANK_MEAN else value


def _on_whole(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute on the whole batch, which is right for any operation that doesn't change its arguments."""
    name = getattr(func, "__name__", str(func))
    if (changes_argument(name) and args and isinstance(args[0], BatchTensor)) or has_batch_tensor(kwargs.get("out")):
        raise DistributedError(
            f"the script changes a batch in place with '{name}', which the ranks can't do separately on their "
            "parts; compute a new tensor, or run the script with --workers 1"
        )
    if torch.is_grad_enabled() and any(isinstance(tensor.placement, Part) for tensor in batch_tensors(args, kwargs)):
        BatchTensor.ranks.whole[name] = BatchTensor.ranks.whole.get(name, 0) + 1
    args, kwargs = pytree.tree_map_only(BatchTensor, whole, (args, kwargs))
    return func(*args, **kwargs)


def changes_argument(name: str) -> bool:
    """Return whether an operation of this name changes its first argument."""
    if name.startswith("__"):
        return name in ("__setitem__", "__set__", "__delete__") or (name[2] == "i" and name[3:-2] in _IN_PLACE)
    return name.endswith("_")


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule for the operations of these names, whether they are functions or methods."""

    def use(function: Rule) -> Rule:
        for name in " ".join(names).split():
            for operation in operations(name):
                RULES.setdefault(operation, []).append(function)
        return function

    return use


def operations(name: str) -> Iterator[Function]:
    """Yield the operations of a name, each once. For a property, this is its getter."""
    seen: list[Any] = []
    for place in _PLACES:
        operation = getattr(place, name, None)
        operation = operation if callable(operation) else getattr(operation, "__get__", None)
        if operation is not None and operation not in seen:
            seen.append(operation)
            yield operation


def name_of(func: Function) -> str:
    """Return an operation's name, which is the same for the function, the method, and the in-place version."""
    return func.__name__.strip("_")


def argument(args: tuple[Any, ...], kwargs: dict[str, Any], index: int, name: str, default: Any = None) -> Any:
    """Return an argument by its position or name."""
    return args[index] if len(args) > index else kwargs.get(name, default)
