"""Rules for operations on single values, with torch's broadcasting, and along dimensions, such as sums and extremes."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.utils import _pytree as pytree

from netdsl.transparent.batch_tensor import (
    RANK_MEAN,
    BatchTensor,
    Function,
    Part,
    argument,
    batch_tensors,
    changes_argument,
    fraction,
    name_of,
    own_part,
    place_like,
    rule,
    scaled,
)

_ARITHMETIC = "add sub subtract mul multiply div divide true_divide neg negative"
_OPERATORS = "__add__ __radd__ __iadd__ __sub__ __rsub__ __isub__ __mul__ __rmul__ __imul__ __truediv__ __neg__ rsub"
_COPIES = "clone detach contiguous to float double half bfloat16 cpu cuda type type_as alias"
_FUNCTIONS = """abs absolute acos acosh addcdiv addcmul angle arctan asin asinh atan atan2 atanh ceil clamp clamp_max
clamp_min clip conj copysign cos cosh deg2rad digamma eq erf erfc erfinv exp exp2 expm1 fix float_power floor
floor_divide fmax fmin fmod frac ge greater greater_equal gt heaviside hypot isfinite isinf isnan ldexp le lerp less
less_equal lgamma log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor logit lt masked_fill
maximum minimum nan_to_num ne not_equal pow positive reciprocal relu remainder round rsqrt sgn sigmoid sign signbit sin
sinc sinh sqrt square tan tanh trunc where xlogy bitwise_and bitwise_not bitwise_or bitwise_xor bool byte char int long
short copy celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu6 selu silu softplus
softshrink softsign tanhshrink threshold expit fill zero"""
_MORE_OPERATORS = """__rtruediv__ __itruediv__ __pow__ __rpow__ __floordiv__ __rfloordiv__ __mod__ __rmod__ __eq__
__ne__ __lt__ __le__ __gt__ __ge__ __and__ __or__ __xor__ __invert__ __abs__ __pos__ __iand__ __ior__ __rand__
__ror__"""
_IN_PLACE = " ".join(f"{name}_" for name in f"{_ARITHMETIC} {_FUNCTIONS} detach".split())
_PRODUCTS = ("mul", "multiply", "rmul", "imul")
_QUOTIENTS = ("div", "divide", "true_divide", "truediv")
_LINEAR = "sum mean reshape view flatten squeeze unsqueeze stack cat concat __getitem__ expand"
_DIM_PLACES = {"norm": 2, "vector_norm": 2, "topk": 2, "normalize": 2}
_DIM_DEFAULTS = {"normalize": 1, "topk": -1, "sort": -1, "argsort": -1, "glu": -1}


def align(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any], Part, int] | None:
    """Return arguments that all have this rank's part, the first one's placement, and its dimension counted from the
    right.

    Returns `None` if broadcasting doesn't align the parts along one dimension.
    """
    tensors = list(batch_tensors(args, kwargs))
    placements = [tensor.placement for tensor in tensors]
    first = placements[0]
    if not isinstance(first, Part):
        return None
    position = tensors[0].ndim - first.dim
    for tensor, placement in zip(tensors, placements, strict=True):
        if not isinstance(placement, Part) or tensor.ndim - placement.dim != position:
            return None
        if (placement.items, placement.granule) != (first.items, first.granule):
            return None

    def take_part(value: Any) -> Any:
        if not isinstance(value, Tensor) or isinstance(value, BatchTensor) or value.ndim < position:
            return value
        is_whole = value.shape[-position] == first.items * first.granule
        return own_part(value, first, value.ndim - position) if is_whole else value

    args, kwargs = pytree.tree_map(take_part, (args, kwargs))
    return args, kwargs, first, position


@rule(_ARITHMETIC, _OPERATORS, _COPIES, _FUNCTIONS, _MORE_OPERATORS, _IN_PLACE)
def on_parts(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute on this rank's items."""
    if not isinstance(args[0], BatchTensor) and changes_argument(func.__name__):
        return NotImplemented
    aligned = align(args, kwargs)
    if aligned is None or kwargs.get("out") is not None:
        return NotImplemented
    args, kwargs, placement, position = aligned
    result = func(*args, **kwargs)
    if not isinstance(result, Tensor):
        return result
    return place_like(result, Part(result.ndim - position, placement.items, placement.granule))


@rule(_ARITHMETIC, _OPERATORS, _COPIES, _LINEAR, " ".join(f"{name}_" for name in _ARITHMETIC.split()))
def on_rank_means(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Apply linear operations before the mean over the ranks is computed."""
    tensors = list(batch_tensors(args, kwargs))
    if (
        any(tensor.placement is not RANK_MEAN for tensor in tensors)
        or kwargs.get("out") is not None
        or kwargs.get("rounding_mode") is not None
    ):
        return NotImplemented
    if not isinstance(args[0], BatchTensor) and changes_argument(func.__name__):
        return NotImplemented
    name, factors = name_of(func), list(batch_tensors(args[:2]))
    if name in (*_PRODUCTS, *_QUOTIENTS) and len(factors) > 1:
        return NotImplemented
    if name in _QUOTIENTS and factors[0] is not args[0]:
        return NotImplemented
    result = func(*args, **kwargs)
    is_rounded = isinstance(result, Tensor) and tensors[0].is_floating_point() and not result.is_floating_point()
    return NotImplemented if is_rounded else place_like(result, RANK_MEAN)


def _dims(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any], ndim: int) -> set[int] | None:
    """Return the dimensions along which an operation computes, or `None` for all dimensions and if they are unclear."""
    name = name_of(func)
    dims = argument(args, kwargs, _DIM_PLACES.get(name, 1), "dim", kwargs.get("axis", _DIM_DEFAULTS.get(name)))
    if isinstance(dims, bool) or dims is None or dims == ():
        return None
    return {dim % ndim for dim in (dims if isinstance(dims, (tuple, list)) else (dims,))}


def _part_after(placement: Part, dims: set[int], before: int, after: int) -> Part:
    """Return the placement in a result that may have lost these dimensions."""
    lost = sum(dim < placement.dim for dim in dims) if after < before else 0
    return Part(placement.dim - lost, placement.items, placement.granule)


@rule("sum mean")
def add_up(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute a sum or mean over items as a mean over the ranks. Each rank's share is scaled to the size of the
    whole."""
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
    """Compute on this rank's items if the operation runs along other dimensions."""
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
    """Compute extremes along a dimension, or of two tensors."""
    if isinstance(argument(args, kwargs, 1, "other"), Tensor):
        return on_parts(func, args, kwargs)
    return _along_others(func, args, kwargs)
