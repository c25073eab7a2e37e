"""Permute: the axes in a different order."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import transposed
from netdsl.layer.running import SharesMemory


class Permute(HasOnnxForm, SharesMemory):
    """Reorders axes: axis `order[i]` becomes axis i. Axes that `order` leaves out follow in their old order."""

    config = pb.PermuteParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        order, axes = list(layer.permute_param.order), range(len(bottoms[0]))
        if len(set(order)) != len(order):
            raise NetError(f"order {order} contains an axis twice; name each axis once")
        if not set(order) <= set(axes):
            raise ShapeError(
                f"order {order} contains an axis that doesn't exist: the bottom has {len(axes)} axes; use axes "
                f"from 0 to {len(axes) - 1}"
            )
        self.order = (*order, *(axis for axis in axes if axis not in order))

    def forward(self, x: Tensor) -> Tensor:
        return x.permute(self.order).contiguous()

    def shares_memory(self) -> bool:
        return self.order == tuple(sorted(self.order))

    def onnx(self, g: OnnxGraph, x: str) -> str:
        return transposed(g, x, *self.order)
