"""Operations on single values, with torch's broadcasting."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.utils import _pytree as pytree

from netdsl.transparent.batch_tensor import (
    RANK_MEAN,
    BatchTensor,
    Function,
    Part,
    batch_tensors,
    changes_argument,
    own_part,
    place_like,
)
from netdsl.transparent.rules.registry import name_of, rule

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


def align(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any], Part, int] | None:
    """Arguments that all have this rank's part, the first one's placement, and its dimension counted from the right.

    None where the parts aren't along one dimension, as broadcasting sees it.
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
    """Each rank computes its items."""
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


_PRODUCTS = ("mul", "multiply", "rmul", "imul")
_QUOTIENTS = ("div", "divide", "true_divide", "truediv")
_LINEAR = "sum mean reshape view flatten squeeze unsqueeze stack cat concat __getitem__ expand"


@rule(_ARITHMETIC, _OPERATORS, _COPIES, _LINEAR, " ".join(f"{name}_" for name in _ARITHMETIC.split()))
def on_rank_means(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What is linear may be computed before the mean over the ranks is taken."""
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
