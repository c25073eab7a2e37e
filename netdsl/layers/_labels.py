"""Labels: whole numbers that say which class is the right one. They are checked where that doesn't make a GPU wait."""

from __future__ import annotations

import torch
from torch import Tensor

from netdsl.errors import NetError
from netdsl.layer.running import on_cpu


def classes_of(labels: Tensor) -> Tensor:
    """Labels as whole numbers; a NetError if one isn't whole, such as 1.5 or NaN, which would become another class."""
    classes = labels.long()
    if labels.is_floating_point() and can_be_checked(labels):
        _refuse(labels, classes.to(labels.dtype) != labels, "is no class, for it isn't a whole number", "change it")
    return classes


def within(classes: Tensor, count: int) -> Tensor:
    """The same classes; a NetError if one isn't among the first `count`."""
    if can_be_checked(classes):
        what = f"is none of {count} classes, which are 0 to {count - 1}"
        _refuse(classes, (classes < 0) | (classes >= count), what, "change it, or give the first bottom more classes")
    return classes


def of_class(values: Tensor, axis: int, classes: Tensor) -> Tensor:
    """Of all values along an axis, those of these classes; a NetError if a label is none of them."""
    return values.gather(axis, within(classes, values.shape[axis]))


def can_be_checked(labels: Tensor) -> bool:
    """Whether the values can be looked at without waiting for a device, or breaking the graph of a compiler."""
    return on_cpu(labels) and not torch.compiler.is_compiling()


def _refuse(labels: Tensor, wrong: Tensor, what: str, advice: str) -> None:
    if wrong.any():
        place = wrong.nonzero()[0].tolist()
        value = labels[tuple(place)].item()
        raise NetError(f"label {value:.6g} {what}; it is at {place} of the labels: {advice}")
