"""Operations along dimensions: sums, means, extremes, orders."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from netdsl.transparent.batch_tensor import (
    RANK_MEAN,
    BatchTensor,
    Function,
    Part,
    fraction,
    place_like,
    scaled,
)
from netdsl.transparent.rules.elementwise import on_parts
from netdsl.transparent.rules.registry import argument, name_of, rule

_DIM_PLACES = {"norm": 2, "vector_norm": 2, "topk": 2, "normalize": 2}
_DIM_DEFAULTS = {"normalize": 1, "topk": -1, "sort": -1, "argsort": -1, "glu": -1}


def _dims(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any], ndim: int) -> set[int] | None:
    """The dimensions along which it computes; None for all, or where that isn't clear."""
    name = name_of(func)
    dims = argument(args, kwargs, _DIM_PLACES.get(name, 1), "dim", kwargs.get("axis", _DIM_DEFAULTS.get(name)))
    if isinstance(dims, bool) or dims is None or dims == ():
        return None
    return {dim % ndim for dim in (dims if isinstance(dims, (tuple, list)) else (dims,))}


def _part_after(placement: Part, dims: set[int], before: int, after: int) -> Part:
    """The placement in a result that may have lost the dimensions."""
    lost = sum(dim < placement.dim for dim in dims) if after < before else 0
    return Part(placement.dim - lost, placement.items, placement.granule)


@rule("sum mean")
def add_up(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A sum or mean over items is a mean over the ranks of each one's share, made as large as the whole."""
    tensor = args[0]
    if not isinstance(tensor, BatchTensor) or not isinstance(tensor.placement, Part) or kwargs.get("out") is not None:
        return NotImplemented
    placement, dims = tensor.placement, _dims(func, args, kwargs, tensor.ndim)
    if dims is not None and placement.dim not in dims:
        return _along_others(func, args, kwargs)
    factor = fraction(placement) if name_of(func) == "mean" else BatchTensor.ranks.size
    return place_like(scaled(func(*args, **kwargs), factor), RANK_MEAN)


@rule(
    "amax amin argmax argmin median mode prod all any logsumexp var std norm vector_norm count_nonzero nansum nanmean",
    "softmax log_softmax softmin cumsum cumprod cummax cummin logcumsumexp sort argsort topk normalize glu",
)
def _along_others(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Along other dimensions each rank computes its items."""
    tensor = args[0]
    if not isinstance(tensor, BatchTensor) or not isinstance(tensor.placement, Part) or kwargs.get("out") is not None:
        return NotImplemented
    dims = _dims(func, args, kwargs, tensor.ndim)
    if dims is None or tensor.placement.dim in dims:
        return NotImplemented
    result = func(*args, **kwargs)
    after = (result if isinstance(result, Tensor) else result[0]).ndim
    return place_like(result, _part_after(tensor.placement, dims, tensor.ndim, after))


@rule("max min")
def extreme(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Extremes along a dimension, or of two tensors."""
    if isinstance(argument(args, kwargs, 1, "other"), Tensor):
        return on_parts(func, args, kwargs)
    return _along_others(func, args, kwargs)
