"""Labels: whole numbers that say which class is the right one."""

from __future__ import annotations

from torch import Tensor

from netdsl.errors import NetError


def of_class(values: Tensor, axis: int, classes: Tensor) -> Tensor:
    """Of all values along an axis, those of these classes; a NetError if a label is none of them."""
    try:
        return values.gather(axis, classes)
    except (IndexError, RuntimeError):
        count = values.shape[axis]
        wrong = classes[(classes < 0) | (classes >= count)]
        if not len(wrong):
            raise
        raise NetError(
            f"label {int(wrong[0])} is none of {count} classes, which are 0 to {count - 1}; change the labels, or "
            "give the first bottom more classes"
        ) from None
