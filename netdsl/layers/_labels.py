"""Labels and other indices: whole numbers that choose a class, a row or an item.

They are checked where that doesn't make a GPU wait.
"""

from __future__ import annotations

import warnings

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.locations import error_label
from netdsl.errors import LabelWarning, NetError
from netdsl.layer.running import can_be_read

_MORE_CLASSES = "give the first bottom more classes"
IGNORE = f"set it as ignore_label if it shouldn't count, or {_MORE_CLASSES}"
MORE_OUTPUTS = "raise num_output"
_CUT = "labels that aren't whole numbers lose their fraction here, as in Caffe; give whole ones if they are classes"
_BEYOND_INT = 2.0**31


def classes_of(labels: Tensor, layer: pb.LayerParameter) -> Tensor:
    """A layer's labels as whole numbers. Caffe's rule: they lose their fraction, of which a warning tells.

    A NetError if one is no number that Caffe's labels can be, such as NaN.
    """
    classes = labels.long()
    if labels.is_floating_point() and can_be_read(labels):
        if not all_within(labels, -_BEYOND_INT, _BEYOND_INT):
            _refuse(labels, ~(labels.abs() < _BEYOND_INT), "label", "is no class, for an int doesn't hold it", "")
        if not torch.equal(classes.to(labels.dtype), labels):
            warnings.warn(f"{error_label(layer)}: {_CUT}", LabelWarning, stacklevel=2)
    return classes


def within(classes: Tensor, count: int, advice: str = _MORE_CLASSES) -> Tensor:
    """The same classes; a NetError if one isn't among the first `count`, which advises to change it or what is said."""
    _check(classes, count, "label", "classes", advice)
    return classes


def of_class(values: Tensor, axis: int, classes: Tensor, advice: str = _MORE_CLASSES) -> Tensor:
    """Of all values along an axis, those of these classes; a NetError if a label is none of them."""
    return values.gather(axis, within(classes, values.shape[axis], advice))


def indices_of(bottom: Tensor, count: int, what: str, advice: str) -> Tensor:
    """Indices as whole numbers; a NetError if one isn't whole, or is none of `count` rows or items, as `what` says."""
    indices = bottom.long()
    if bottom.is_floating_point() and can_be_read(bottom):
        _refuse(bottom, indices != bottom, "index", "is no index, for it isn't a whole number", "")
    _check(indices, count, "index", what, advice)
    return indices


def _check(numbers: Tensor, count: int, name: str, what: str, advice: str) -> None:
    range_ = f"is none of {count} {what}, which are 0 to {count - 1}"
    if can_be_read(numbers):
        if not all_within(numbers, -1, count):
            _refuse(numbers, (numbers < 0) | (numbers >= count), name, range_, advice)
    elif numbers.is_cuda and not torch.compiler.is_compiling():  # which isn't waited for, and stops when it comes to it
        torch._assert_async(((numbers >= 0) & (numbers < count)).all(), f"{name} {range_}")


def all_within(values: Tensor, below: float, above: float) -> bool:
    """Whether all lie between these two, found in one pass; NaN doesn't."""
    if not values.numel():
        return True
    least, most = values.aminmax()
    return below < least.item() and most.item() < above


def _refuse(values: Tensor, wrong: Tensor, name: str, what: str, advice: str) -> None:
    if wrong.any():
        place = wrong.nonzero()[0].tolist()
        value = values[tuple(place)].item()
        plural = {"label": "labels", "index": "indices"}[name]
        raise NetError(
            f"{name} {value:.6g} {what}; it is at {place} of the {plural}: change it{advice and f', or {advice}'}"
        )
