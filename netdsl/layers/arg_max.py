"""ArgMax: the indices of the largest values."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape, axis_of
from netdsl.layer.onnx_form import reshaped, reversed_along, scaled
from netdsl.layer.tops import MakesIndices
from netdsl.layers._settings import refuse


class ArgMax(HasOnnxForm, MakesIndices):
    """Computes the indices of the `top_k` largest values along an axis, or over all values of each item.

    `out_max_val` outputs the values instead of the indices if there is an axis, and otherwise the values after the
    indices.
    """

    config = pb.ArgMaxParameter
    no_gradient = (0,)
    discontinuous = True

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p, shape = layer.argmax_param, bottoms[0]
        refuse(p, "min_first")
        self.axis = axis_of(p.axis, len(shape)) if p.HasField("axis") else None
        self.top_k, self.out_max_val = p.top_k, p.out_max_val
        choices = math.prod(shape[1:]) if self.axis is None else shape[self.axis]
        if p.top_k < 1:
            raise NetError(f"top_k is {p.top_k}; set it to 1 or more")
        if p.top_k > choices:
            raise ShapeError(f"top_k {p.top_k} is more than the {choices} values to choose from; lower top_k")

    def makes_indices(self) -> bool:
        return self.axis == self.index_axis and self.top_k == 1 and not self.out_max_val

    def forward(self, x: Tensor) -> Tensor:
        if self.axis is None:
            return self._of_items(x)
        values, indices = _largest(x, self.axis, self.top_k)
        return values if self.out_max_val else indices

    def onnx(self, g: OnnxGraph, x: str) -> str:
        if self.axis is not None:
            values, indices = _largest_onnx(g, x, self.axis, g.length(x, self.axis), self.top_k)
            return values if self.out_max_val else indices
        axes = len(g.shape(x))
        choices = math.prod(g.length(x, axis) for axis in range(1, axes))
        values, indices = _largest_onnx(g, g.node("Flatten", x), 1, choices, self.top_k)
        parts = (indices, values) if self.out_max_val else (indices,)
        return reshaped(g, g.node("Concat", *parts, axis=1), 0, len(parts), self.top_k, *(1,) * (axes - 3))

    def _of_items(self, x: Tensor) -> Tensor:
        """Return the top in Caffe's shape: the batch, 1 or 2, top_k, and ones for the remaining axes of the bottom."""
        values, indices = _largest(x.reshape(x.shape[0], -1), 1, self.top_k)
        parts = (indices, values) if self.out_max_val else (indices,)
        return torch.stack(parts, 1).reshape(x.shape[0], len(parts), self.top_k, *(1,) * (x.dim() - 3))


def _largest(x: Tensor, axis: int, top_k: int) -> tuple[Tensor, Tensor]:
    """Return values and indices, largest first. Caffe's rule: equal values are ordered from last to first."""
    backward = x.flip(axis)
    if top_k == 1:
        values, indices = backward.max(axis, keepdim=True)
    else:
        values, indices = backward.sort(dim=axis, descending=True, stable=True)
        values, indices = values.narrow(axis, 0, top_k), indices.narrow(axis, 0, top_k)
    return values, (x.shape[axis] - 1 - indices).to(x.dtype)


def _largest_onnx(g: OnnxGraph, x: str, axis: int, length: int, top_k: int) -> tuple[str, str]:
    """Write `_largest` in ONNX operators. TopK puts the first of equal values first, so the axis is reversed before
    it."""
    values, indices = g.nodes("TopK", reversed_along(g, x, axis), g.constant([top_k]), outputs=2, axis=axis)
    return values, scaled(g, g.to_float(indices), -1, length - 1)
