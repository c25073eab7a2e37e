"""Permute: the axes in another order."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import transposed
from netdsl.layer.running import SharesMemory


class Permute(HasOnnxForm, SharesMemory):
    """Axis `order[i]` becomes axis i; those that `order` leaves out follow as they were."""

    config = pb.PermuteParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        order, axes = list(layer.permute_param.order), range(len(bottoms[0]))
        if len(set(order)) != len(order):
            raise NetError(f"order {order} has an axis twice")
        if not set(order) <= set(axes):
            raise ShapeError(f"order {order} has an axis that the bottom lacks: it has {len(axes)} axes")
        self.order = (*order, *(axis for axis in axes if axis not in order))

    def forward(self, x: Tensor) -> Tensor:
        return x.permute(self.order).contiguous()

    def shares_memory(self) -> bool:
        return self.order == tuple(sorted(self.order))

    def onnx(self, g: OnnxGraph, x: str) -> str:
        return transposed(g, x, *self.order)
