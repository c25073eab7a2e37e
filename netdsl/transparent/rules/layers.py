"""Rules for layers and losses that treat each item separately, and for BatchNorm and dropout, which need the whole
batch."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from netdsl.transparent.batch_tensor import (
    RANK_MEAN,
    BatchTensor,
    Function,
    Part,
    argument,
    batch_tensors,
    fraction,
    has_batch_tensor,
    mean_of_ranks,
    name_of,
    own_part,
    place,
    place_like,
    rule,
    scaled,
    whole_shape,
)
from netdsl.transparent.rules.arithmetic import align

# The number of dimensions that the first argument must have, including the batch's.
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
_BATCH_NORM = inspect.signature(functional.batch_norm)
_BY_ITEM = """mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits
soft_margin_loss poisson_nll_loss gaussian_nll_loss kl_div hinge_embedding_loss"""


def _first_part(args: tuple[Any, ...], kwargs: dict[str, Any], *, only: bool = True) -> Part | None:
    """Return the placement of the first argument if it is a part. With `only`, no other argument may be a batch
    tensor."""
    tensor = args[0] if args else None
    if not isinstance(tensor, BatchTensor) or not isinstance(tensor.placement, Part):
        return None
    return None if only and sum(1 for _ in batch_tensors(args, kwargs)) > 1 else tensor.placement


@rule(" ".join(_WITH_BATCH), _ANY)
def by_item(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute a layer whose first dimension is the batch's, and whose weights all ranks have."""
    placement = _first_part(args, kwargs)
    if placement is None or placement.dim or args[0].ndim < 2:
        return NotImplemented
    if args[0].ndim != _WITH_BATCH.get(name_of(func), args[0].ndim):
        return NotImplemented
    return place_like(func(*args, **kwargs), placement)


@rule("pad")
def pad(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Pad dimensions after the batch's."""
    placement = _first_part(args, kwargs)
    widths = argument(args, kwargs, 1, "pad")
    if placement is None or len(widths) // 2 >= args[0].ndim - placement.dim:
        return NotImplemented
    return place_like(func(*args, **kwargs), placement)


@rule("layer_norm rms_norm")
def normalize_items(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Normalize with the statistics of single items."""
    placement = _first_part(args, kwargs)
    if placement is None or len(argument(args, kwargs, 1, "normalized_shape")) >= args[0].ndim - placement.dim:
        return NotImplemented
    return place_like(func(*args, **kwargs), placement)


@rule("linear addmm matmul mm bmm __matmul__")
def multiply_matrices(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Multiply rows of items by a matrix that all ranks have, or by one matrix for each item."""
    name = name_of(func)
    if name == "addmm":
        bias, left, right = args[:3]
        if isinstance(bias, BatchTensor) or bias.ndim != 1:
            return NotImplemented
    else:
        left, right = args[:2]
    placement = _first_part((left,), {})
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
    """Return the rows of a table for the items' numbers."""
    placement = _first_part(args, kwargs)
    if placement is None or argument(args, kwargs, 3, "max_norm") is not None:
        return NotImplemented
    return place(func(*args, **kwargs), placement)


@rule("one_hot")
def one_hot(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return vectors with ones at the items' numbers. The script must pass their length."""
    placement = _first_part(args, kwargs)
    if placement is None or argument(args, kwargs, 1, "num_classes", -1) < 0:
        return NotImplemented
    return place(func(*args, **kwargs), placement)


@rule("scaled_dot_product_attention")
def attend(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute attention within each item."""
    placement = _first_part(args, kwargs, only=False)
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
    """Apply this rank's part of the whole batch's dropout. All ranks draw the same random numbers."""
    tensor, placement = args[0], _first_part(args, kwargs)
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


@rule("batch_norm")
def normalize_batch(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Apply BatchNorm with the statistics of the whole batch."""
    placement = _first_part(args, kwargs)
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
        return NotImplemented  # torch then raises its error
    share = own_count * BatchTensor.ranks.size / count
    mean = mean_of_ranks(scaled(tensor.mean(dims, keepdim=True), share))
    centered = tensor - mean
    variance = mean_of_ranks(scaled(centered.square().mean(dims, keepdim=True), share))
    _update_statistics(given["running_mean"], mean, given["momentum"])
    _update_statistics(given["running_var"], variance * (count / (count - 1)), given["momentum"])
    result = centered * torch.rsqrt(variance + given["eps"])
    if given["weight"] is not None:
        result = result * given["weight"].view(mean.shape)
    if given["bias"] is not None:
        result = result + given["bias"].view(mean.shape)
    return place(result, placement)


@torch.no_grad()
def _update_statistics(running: Tensor | None, value: Tensor, momentum: float) -> None:
    if running is not None:
        running.mul_(1 - momentum).add_(value.view(running.shape), alpha=momentum)


def _reduction_of(kwargs: dict[str, Any]) -> str:
    """Return the name of the reduction. Returns an empty string for torch's old arguments."""
    is_old = kwargs.get("size_average") is not None or kwargs.get("reduce") is not None
    return "" if is_old else kwargs.get("reduction", "mean")


def _reduced_loss(result: Tensor, reduction: str, placement: Part) -> BatchTensor:
    """Return the result for a rank's items, with its relation to the whole."""
    if reduction == "none":
        return place(result, placement)
    factor = BatchTensor.ranks.size if reduction == "sum" else fraction(placement)
    return place(scaled(result, factor), RANK_MEAN)


@rule(_BY_ITEM)
def loss_by_item(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute a loss with one value for each prediction. Its mean is over all values."""
    reduction, aligned = _reduction_of(kwargs), align(args, kwargs)
    if (
        not reduction
        or aligned is None
        or any(value.ndim != args[0].ndim for value in args if isinstance(value, Tensor))
    ):
        return NotImplemented
    args, kwargs, placement, _ = aligned
    return _reduced_loss(func(*args, **kwargs), reduction, placement)


@rule("cross_entropy nll_loss")
def class_loss(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute a loss of classes. Its mean is over the weights of the labels that count, added up over the ranks."""
    scores, labels = args[0], argument(args, kwargs, 1, "target")
    reduction, placement = _reduction_of(kwargs), getattr(scores, "placement", None)
    if not reduction or not isinstance(placement, Part) or placement.dim or scores.ndim < 2:
        return NotImplemented
    if isinstance(labels, BatchTensor):
        if labels.placement != placement:
            return NotImplemented
    else:
        labels = own_part(labels, placement)
    weight = argument(args, kwargs, 2, "weight")
    if has_batch_tensor(weight):
        return NotImplemented
    kwargs = {name: value for name, value in kwargs.items() if name not in ("target", "weight")} | {"weight": weight}
    if reduction != "mean" or labels.is_floating_point():
        return _reduced_loss(func(scores, labels, **kwargs), reduction, placement)
    total = func(scores, labels, **kwargs | {"reduction": "sum"})
    return place(total * BatchTensor.ranks.size / _weight_of(labels, weight, kwargs), RANK_MEAN)


@torch.no_grad()
def _weight_of(labels: Tensor, weight: Tensor | None, kwargs: dict[str, Any]) -> Tensor:
    """Return the total weight of all ranks' labels that count."""
    labels = labels.as_subclass(Tensor)
    counting = labels[labels != kwargs.get("ignore_index", -100)]
    if weight is None:
        own = torch.tensor(float(counting.numel()), dtype=torch.float64, device=labels.device)
    else:
        own = weight[counting].sum()
    return mean_of_ranks(own * BatchTensor.ranks.size).to(torch.get_default_dtype() if weight is None else own.dtype)
