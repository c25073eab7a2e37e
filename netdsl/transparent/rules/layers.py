"""What layers compute of each item by itself, and BatchNorm and dropout, which need the whole batch."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from netdsl.transparent.batch_tensor import (
    BatchTensor,
    Function,
    Part,
    batch_tensors,
    has_batch_tensor,
    mean_of_ranks,
    own_part,
    place,
    place_like,
    scaled,
    whole_shape,
)
from netdsl.transparent.rules.registry import argument, name_of, rule

# The dimensions that the first argument must have; its first one is the batch's.
_WITH_BATCH = {
    f"{kind}{n}d": n + 2
    for n in (1, 2, 3)
    for kind in (
        "conv",
        "conv_transpose",
        "max_pool",
        "avg_pool",
        "adaptive_avg_pool",
        "adaptive_max_pool",
        "lp_pool",
    )
} | {"pixel_shuffle": 4, "pixel_unshuffle": 4, "unfold": 4, "fold": 3}
_WITH_BATCH |= {f"{name}_with_indices": ndim for name, ndim in _WITH_BATCH.items() if "max_pool" in name}
_ANY = "interpolate group_norm local_response_norm prelu channel_shuffle"


def _placement(args: tuple[Any, ...], kwargs: dict[str, Any], *, only: bool = True) -> Part | None:
    """The placement of the first argument, if that is a part; with `only`, if no other argument is."""
    tensor = args[0] if args else None
    if not isinstance(tensor, BatchTensor) or not isinstance(tensor.placement, Part):
        return None
    return None if only and sum(1 for _ in batch_tensors(args, kwargs)) > 1 else tensor.placement


@rule(" ".join(_WITH_BATCH), _ANY)
def by_item(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Layers whose first dimension is the batch's, and whose weights all ranks have."""
    placement = _placement(args, kwargs)
    if placement is None or placement.dim or args[0].ndim < 2:
        return NotImplemented
    if args[0].ndim != _WITH_BATCH.get(name_of(func), args[0].ndim):
        return NotImplemented
    return place_like(func(*args, **kwargs), placement)


@rule("pad")
def pad(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Padding of dimensions after the batch's."""
    placement = _placement(args, kwargs)
    widths = argument(args, kwargs, 1, "pad")
    if placement is None or len(widths) // 2 >= args[0].ndim - placement.dim:
        return NotImplemented
    return place_like(func(*args, **kwargs), placement)


@rule("layer_norm rms_norm")
def normalise_items(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Statistics of single items."""
    placement = _placement(args, kwargs)
    if placement is None or len(argument(args, kwargs, 1, "normalized_shape")) >= args[0].ndim - placement.dim:
        return NotImplemented
    return place_like(func(*args, **kwargs), placement)


@rule("linear addmm matmul mm bmm __matmul__")
def multiply_matrices(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Rows of items times a matrix that all ranks have, or one matrix for each item."""
    name = name_of(func)
    if name == "addmm":
        bias, left, right = args[:3]
        if isinstance(bias, BatchTensor) or bias.ndim != 1:
            return NotImplemented
    else:
        left, right = args[:2]
    placement = _placement((left,), {})
    if placement is None or placement.dim == left.ndim - 1:
        return NotImplemented
    if isinstance(right, BatchTensor):
        is_batch = right.placement == placement and left.ndim == right.ndim > 2 and placement.dim < left.ndim - 2
        return place(func(*args, **kwargs), placement) if is_batch and name != "linear" else NotImplemented
    if right.ndim > 2 or (has_batch_tensor(args[2:], kwargs) and name != "addmm"):
        return NotImplemented
    return place(func(*args, **kwargs), placement)


@rule("embedding")
def embed(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Rows of a table for the items' numbers."""
    placement = _placement(args, kwargs)
    if placement is None or argument(args, kwargs, 3, "max_norm") is not None:
        return NotImplemented
    return place(func(*args, **kwargs), placement)


@rule("one_hot")
def one_hot(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Ones at the items' numbers, of which the script says how many there are."""
    placement = _placement(args, kwargs)
    if placement is None or argument(args, kwargs, 1, "num_classes", -1) < 0:
        return NotImplemented
    return place(func(*args, **kwargs), placement)


@rule("scaled_dot_product_attention")
def attend(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Attention within each item."""
    placement = _placement(args, kwargs, only=False)
    mask = argument(args, kwargs, 3, "attn_mask")
    if placement is None or placement.dim or argument(args, kwargs, 4, "dropout_p", 0.0) or args[0].ndim < 3:
        return NotImplemented
    if mask is not None and (isinstance(mask, BatchTensor) or mask.ndim > 2):
        return NotImplemented
    if any(not isinstance(each, BatchTensor) or each.placement != placement for each in args[:3]):
        return NotImplemented
    return place(func(*args, **kwargs), placement)


@rule("dropout dropout1d dropout2d dropout3d")
def drop(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A part of what the whole batch's dropout would be, so that all ranks draw as many random numbers."""
    tensor, placement = args[0], _placement(args, kwargs)
    if placement is None:
        return NotImplemented
    in_place = bool(argument(args, kwargs, 3, "inplace", False))
    kwargs = {"p": argument(args, kwargs, 1, "p", 0.5), "training": argument(args, kwargs, 2, "training", True)}
    if not kwargs["training"] or not kwargs["p"]:
        return tensor if in_place else place(tensor.clone(), placement)
    with torch.no_grad():
        ones = torch.ones(whole_shape(tensor), dtype=tensor.dtype, device=tensor.device)
        factors = own_part(func(ones, **kwargs), placement)
    return tensor.mul_(factors) if in_place else place(tensor * factors, placement)


_BATCH_NORM = inspect.signature(functional.batch_norm)


@rule("batch_norm")
def normalise_batch(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """BatchNorm with the statistics of the whole batch."""
    placement = _placement(args, kwargs)
    if placement is None or placement.dim or func is not functional.batch_norm:
        return NotImplemented
    bound = _BATCH_NORM.bind(*args, **kwargs)
    bound.apply_defaults()
    given = bound.arguments
    if not given["training"]:
        return place(func(*args, **kwargs), placement)
    tensor: Tensor = given["input"].as_subclass(Tensor)
    dims = [0, *range(2, tensor.ndim)]
    count = whole_shape(args[0]).numel() // tensor.shape[1]
    own_count = tensor.numel() // tensor.shape[1]
    if count == 1:
        return NotImplemented  # which torch refuses
    share = own_count * BatchTensor.ranks.size / count
    mean = mean_of_ranks(scaled(tensor.mean(dims, keepdim=True), share))
    centred = tensor - mean
    variance = mean_of_ranks(scaled(centred.square().mean(dims, keepdim=True), share))
    _update(given["running_mean"], mean, given["momentum"])
    _update(given["running_var"], variance * (count / (count - 1)), given["momentum"])
    result = centred * torch.rsqrt(variance + given["eps"])
    if given["weight"] is not None:
        result = result * given["weight"].view(mean.shape)
    if given["bias"] is not None:
        result = result + given["bias"].view(mean.shape)
    return place(result, placement)


@torch.no_grad()
def _update(running: Tensor | None, value: Tensor, momentum: float) -> None:
    if running is not None:
        running.mul_(1 - momentum).add_(value.view(running.shape), alpha=momentum)
