"""The weighted mean of what several workers have, the same bits wherever it is computed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netdsl.errors import DistributedError

Array = NDArray[Any]


def scales_of(weights: list[float], doing: str) -> list[float]:
    """The factor of each worker's values in the mean."""
    total = sum(weights)
    check_weights(total, doing)
    return [weight / total for weight in weights]


def check_weights(total: float, doing: str) -> None:
    """Raise a DistributedError where the weights of all workers together give no mean."""
    if not total > 0:
        raise DistributedError(f"{doing}: all weights together are {total:g}, which gives no mean")


def add_up(shares: list[Array], scales: list[float], mean: Array) -> None:
    """The weighted mean in the order of the shares; whole numbers go by way of float64 and are rounded.

    What is equal everywhere stays the same bits if the scales are powers of two, and else to the last bit or two.
    """
    whole = mean.dtype.kind == "i"
    total = np.empty(mean.size, np.float64) if whole else mean
    with np.errstate(over="ignore", invalid="ignore"):  # that a model has diverged is for its solver to say
        if len(set(scales)) == 1 and _is_power_of_two(scales[0]):
            _add_up_and_scale(shares, scales[0], total)
        else:
            _scale_and_add_up(shares, scales, total)
        if whole:
            np.rint(total, out=total)
            mean[:] = total


def _is_power_of_two(scale: float) -> bool:
    return math.frexp(scale)[0] == 0.5


def _add_up_and_scale(shares: list[Array], scale: float, total: Array) -> None:
    """The same bits as the other way round for powers of two, and much quicker."""
    first, *others = shares
    for share in others:
        first = np.add(first, share, out=total)
    np.multiply(first, scale, out=total)


def _scale_and_add_up(shares: list[Array], scales: list[float], total: Array) -> None:
    np.multiply(shares[0], scales[0], out=total)
    scaled = np.empty_like(total)
    for share, scale in zip(shares[1:], scales[1:], strict=True):
        np.multiply(share, scale, out=scaled)
        np.add(total, scaled, out=total)
