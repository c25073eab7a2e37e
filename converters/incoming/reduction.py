"""Reductions along axes as Caffe layers."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from converters.incoming.net import NetBlob, NetWriter
from converters.incoming.pooling import global_pool
from converters.incoming.shaping import permute, reshape
from netdsl import dsl
from netdsl.errors import ConversionError


class AxisReduction(Enum):
    """The kind of a reduction, with Caffe's names as values."""

    SUM = "SUM"
    MEAN = "MEAN"
    ABSOLUTE = "ASUM"
    SQUARES = "SUMSQ"
    MAX = "MAX"


def reduce_axes(
    net: NetWriter, x: NetBlob, axes: Sequence[int], keep: bool, by: AxisReduction, part: str = ""
) -> NetBlob:
    """Reduce axes; with `keep` they stay, with length 1."""
    removed_axes = {axis % len(x.shape) for axis in axes}
    kept_axes = [axis for axis in range(len(x.shape)) if axis not in removed_axes]
    target = [x.shape[axis] for axis in kept_axes]
    if keep:
        target = [1 if axis in removed_axes else size for axis, size in enumerate(x.shape)]
    if by is AxisReduction.MAX or (by is AxisReduction.MEAN and removed_axes == {2, 3} and len(x.shape) == 4):
        return reshape(net, _pooled(net, x, removed_axes, by), target, "shape")
    moved = permute(net, x, [*kept_axes, *sorted(removed_axes)], "last")
    top = net.layer(dsl.Reduction, [moved], part=part, operation=by.value, axis=len(kept_axes))
    return reshape(net, top, target, "shape")


def _pooled(net: NetWriter, x: NetBlob, removed_axes: set[int], by: AxisReduction) -> NetBlob:
    if removed_axes != {2, 3} or len(x.shape) != 4:
        raise ConversionError(
            f"of axes {sorted(removed_axes)} of {len(x.shape)}; Caffe's pooling takes height and width"
        )
    return global_pool(net, x, "MAX" if by is AxisReduction.MAX else "AVE")


def arg_max(net: NetWriter, x: NetBlob, axis: int, *, keep: bool) -> NetBlob:
    """The index of the largest value along an axis, as a real number. Caffe's rule: of equal values, the last."""
    axis %= len(x.shape)
    top = net.layer(dsl.ArgMax, [x], axis=axis)
    return top if keep else reshape(net, top, (*x.shape[:axis], *x.shape[axis + 1 :]), "shape")
