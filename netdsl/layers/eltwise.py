"""Eltwise: several blobs of one shape become one, by sum, product or maximum."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import scaled
from netdsl.layer.overwriting import Reads, ReadsInBackward
from netdsl.layer.running import MakesNewMemory
from netdsl.layers._forks import refuse

_KNOWN = (pb.EltwiseParameter.SUM, pb.EltwiseParameter.PROD, pb.EltwiseParameter.MAX)


class Eltwise(HasOnnxForm, MakesNewMemory, ReadsInBackward):
    """The sum of the bottoms, each times its `coeff`, or their product, or the largest of them."""

    config = pb.EltwiseParameter
    bottoms = (2, None)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.eltwise_param
        refuse(p, "coeff_blob")
        if p.operation not in _KNOWN:
            name = pb.EltwiseParameter.EltwiseOp.Name(p.operation)
            raise NetError(f"operation {name} is a fork's; take SUM, PROD or MAX")
        if p.coeff and p.operation == pb.EltwiseParameter.PROD:
            raise NetError("coeff is for sums; remove it, or use operation: SUM")
        if p.coeff and len(p.coeff) != len(bottoms):
            raise NetError(f"{len(p.coeff)} coeff for {len(bottoms)} bottoms; give one for each or none")
        self.operation, self.divides = p.operation, not p.stable_prod_grad
        self.coeff = list(p.coeff) or [1.0] * len(bottoms)

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        for name, shape in zip(self.layer.bottom, bottoms, strict=True):
            if shape != bottoms[0]:
                raise ShapeError(f"bottom '{name}' is {list(shape)}, the first one {list(bottoms[0])}; they must agree")
        return [bottoms[0]]

    def forward(self, *bottoms: Tensor) -> Tensor:
        if self.operation == pb.EltwiseParameter.PROD:
            return reduce(torch.mul, bottoms)
        return self._sum(*bottoms) if self.operation == pb.EltwiseParameter.SUM else _largest(*bottoms)

    def reads_bottoms(self) -> Reads:
        return Reads.VALUES if self.operation == pb.EltwiseParameter.PROD else Reads.NOTHING

    def reads_tops(self) -> Reads:
        return self.reads_bottoms() if self.divides else Reads.NOTHING

    def caffe_gradients(
        self, seen: Sequence[Tensor], bottoms: Sequence[Tensor], tops: Sequence[Tensor], gradients: Sequence[Tensor]
    ) -> Sequence[Tensor | None]:
        if not self.divides:
            return super().caffe_gradients(seen, bottoms, tops, gradients)
        return [gradients[0] * tops[0] / bottom for bottom in bottoms]

    def onnx(self, g: OnnxGraph, *bottoms: str) -> str:
        if self.operation == pb.EltwiseParameter.PROD:
            return reduce(lambda a, b: g.node("Mul", a, b), bottoms)
        if self.operation == pb.EltwiseParameter.MAX:
            return g.node("Max", *bottoms)
        pairs = zip(bottoms, self.coeff, strict=True)
        terms = [scaled(g, bottom, coeff) for bottom, coeff in pairs]
        return g.node("Add" if len(terms) == 2 else "Sum", *terms)

    def _sum(self, first: Tensor, *others: Tensor) -> Tensor:
        total = first * self.coeff[0] if self.coeff[0] != 1 else first
        for other, coeff in zip(others, self.coeff[1:], strict=True):
            total = torch.add(total, other, alpha=coeff)
        return total


def _largest(first: Tensor, second: Tensor, *others: Tensor) -> Tensor:
    """Caffe's rule for equal values: the gradient is the second bottom's, or else that of whoever came first."""
    largest = torch.where(first > second, first, second)
    for other in others:
        largest = torch.where(other > largest, other, largest)
    return largest
