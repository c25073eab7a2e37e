"""Reduction: all axes from one on reduced to one number."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape, axis_of
from netdsl.layer.onnx_form import reduced, scaled
from netdsl.layer.running import Reads, ReadsInBackward, in_single


class Reduction(HasOnnxForm, ReadsInBackward):
    """Computes `coeff` times the sum, the sum of absolute values, the sum of squares, or the mean of the values."""

    config = pb.ReductionParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.reduction_param
        self.axis = axis_of(p.axis, len(bottoms[0]))
        self.operation, self.coeff = p.operation, p.coeff

    @in_single
    def forward(self, x: Tensor) -> Tensor:
        top = self._reduced(x.flatten(self.axis))
        return top * self.coeff if self.coeff != 1 else top

    def reads_bottoms(self) -> Reads:
        p = pb.ReductionParameter
        return Reads.VALUES if self.operation in (p.ASUM, p.SUMSQ) else Reads.NOTHING

    def onnx(self, g: OnnxGraph, x: str) -> str:
        p = pb.ReductionParameter
        op = {p.MEAN: "ReduceMean", p.ASUM: "ReduceL1", p.SUMSQ: "ReduceSumSquare"}.get(self.operation, "ReduceSum")
        return scaled(g, reduced(g, op, x, range(self.axis, len(g.shape(x))), keep=False), self.coeff)

    def _reduced(self, rows: Tensor) -> Tensor:
        if self.operation == pb.ReductionParameter.MEAN:
            return rows.mean(-1)
        if self.operation == pb.ReductionParameter.ASUM:
            return rows.abs().sum(-1)
        return (rows.square() if self.operation == pb.ReductionParameter.SUMSQ else rows).sum(-1)
