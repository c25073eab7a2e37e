"""Slice: a blob cut into several parts along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape, axis_of
from netdsl.layer.running import SharesMemory


class Slice(HasOnnxForm, SharesMemory):
    """Cuts the bottom at each `slice_point`, or into equal parts."""

    config = pb.SliceParameter
    tops = (1, None)
    any_layout = True

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.slice_param
        if p.HasField("axis") and p.HasField("slice_dim"):
            raise NetError("axis and slice_dim are both set but mean the same; remove one of them")
        old = p.HasField("slice_dim")
        self.axis = axis_of(p.slice_dim if old else p.axis, len(bottoms[0]), "slice_dim" if old else "axis")
        self.points, self.parts = list(p.slice_point), len(layer.top)
        self._check_points(bottoms[0][self.axis])

    def _check_points(self, size: int) -> None:
        points, tops = self.points, self.parts
        if points and len(points) != tops - 1:
            raise NetError(
                f"{tops} tops need {tops - 1} slice_point, not {len(points)}; write one for each top after the first"
            )
        if not points and size % tops:
            raise ShapeError(
                f"axis {self.axis} of length {size} can't be cut into {tops} equal parts; write where each top "
                "after the first starts as slice_point"
            )
        if points and any(after <= before for before, after in pairwise((0, *points, size))):
            raise ShapeError(
                f"slice_point {points} must increase from more than 0 to less than {size}; write the places in "
                "ascending order"
            )

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        size = x.shape[self.axis]
        if not self.points:
            return torch.split(x, size // self.parts, self.axis)
        return torch.split(x, [after - before for before, after in pairwise((0, *self.points, size))], self.axis)

    def shares_memory(self) -> bool:
        return self.parts == 1

    def onnx(self, g: OnnxGraph, x: str) -> tuple[str, ...]:
        size = g.length(x, self.axis)
        points = self.points or range(size // self.parts, size, size // self.parts)
        sizes = [after - before for before, after in pairwise((0, *points, size))]
        return g.nodes("Split", x, g.constant(sizes), outputs=len(sizes), axis=self.axis)
