"""Losses: those of single items, and their sums and means over the batch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from netdsl.transparent.batch_tensor import (
    RANK_MEAN,
    BatchTensor,
    Function,
    Part,
    fraction,
    has_batch_tensor,
    mean_of_ranks,
    own_part,
    place,
    scaled,
)
from netdsl.transparent.rules.elementwise import align
from netdsl.transparent.rules.registry import argument, rule

_BY_ITEM = """mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits
soft_margin_loss poisson_nll_loss gaussian_nll_loss kl_div hinge_embedding_loss"""


def _reduction(kwargs: dict[str, Any]) -> str:
    """Its name; empty for torch's old arguments."""
    is_old = kwargs.get("size_average") is not None or kwargs.get("reduce") is not None
    return "" if is_old else kwargs.get("reduction", "mean")


def _reduce(result: Tensor, reduction: str, placement: Part) -> BatchTensor:
    """The result of a rank's items as what it is to the whole."""
    if reduction == "none":
        return place(result, placement)
    factor = BatchTensor.ranks.size if reduction == "sum" else fraction(placement)
    return place(scaled(result, factor), RANK_MEAN)


@rule(_BY_ITEM)
def loss_by_item(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Losses of which the mean is over all values."""
    reduction, aligned = _reduction(kwargs), align(args, kwargs)
    if (
        not reduction
        or aligned is None
        or any(value.ndim != args[0].ndim for value in args if isinstance(value, Tensor))
    ):
        return NotImplemented
    args, kwargs, placement, _ = aligned
    return _reduce(func(*args, **kwargs), reduction, placement)


@rule("cross_entropy nll_loss")
def class_loss(func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Losses of classes. Their mean is over the weights of the labels that count, which the ranks add up."""
    scores, labels = args[0], argument(args, kwargs, 1, "target")
    reduction, placement = _reduction(kwargs), getattr(scores, "placement", None)
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
        return _reduce(func(scores, labels, **kwargs), reduction, placement)
    total = func(scores, labels, **kwargs | {"reduction": "sum"})
    return place(total * BatchTensor.ranks.size / _weight_of(labels, weight, kwargs), RANK_MEAN)


@torch.no_grad()
def _weight_of(labels: Tensor, weight: Tensor | None, kwargs: dict[str, Any]) -> Tensor:
    """The weights of all ranks' labels that count."""
    labels = labels.as_subclass(Tensor)
    counting = labels[labels != kwargs.get("ignore_index", -100)]
    if weight is None:
        own = torch.tensor(float(counting.numel()), dtype=torch.float64, device=labels.device)
    else:
        own = weight[counting].sum()
    return mean_of_ranks(own * BatchTensor.ranks.size).to(torch.get_default_dtype() if weight is None else own.dtype)
