"""Eltwise: the sum, product or maximum of several blobs of the same shape."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import scaled
from netdsl.layer.running import MakesNewMemory, OverwritesBottom, Reads, ReadsInBackward
from netdsl.layers._settings import refuse

_KNOWN = (pb.EltwiseParameter.SUM, pb.EltwiseParameter.PROD, pb.EltwiseParameter.MAX)
_IN_PLACE_IN_CAFFE = {
    pb.EltwiseParameter.SUM: "Caffe sets the first bottom to 0 before adding it, and so does netdsl",
    pb.EltwiseParameter.PROD: "Caffe overwrites the gradient that it still needs",
    pb.EltwiseParameter.MAX: "Caffe loses the first bottom on a CPU and overwrites the gradient that it still needs",
}


class Eltwise(HasOnnxForm, MakesNewMemory, OverwritesBottom, ReadsInBackward):
    """Computes the sum of the bottoms times their `coeff`, their product, or their maximum.

    Caffe's rule for a sum in place: the top's memory, which is also the first bottom's, is set to 0 first. The first
    bottom is therefore missing from the sum, although it gets its gradient.
    """

    config = pb.EltwiseParameter
    bottoms = (2, None)
    in_place = True
    any_layout = True

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.eltwise_param
        refuse(p, "coeff_blob")
        if p.operation not in _KNOWN:
            name = pb.EltwiseParameter.EltwiseOp.Name(p.operation)
            raise NetError(f"operation {name} belongs to a fork and isn't supported; use SUM, PROD or MAX")
        if p.coeff and p.operation == pb.EltwiseParameter.PROD:
            raise NetError("coeff applies only to sums; remove it, or use operation: SUM")
        if p.coeff and len(p.coeff) != len(bottoms):
            raise NetError(f"there are {len(p.coeff)} coeff for {len(bottoms)} bottoms; give one for each or none")
        self.operation, self.divides = p.operation, not p.stable_prod_grad
        self.coeff = list(p.coeff) or [1.0] * len(bottoms)
        self.loses_first = p.operation == pb.EltwiseParameter.SUM and self.works_in_place()
        if self.works_in_place():
            self.caffe_notes.append(f"in place, {_IN_PLACE_IN_CAFFE[p.operation]}; give the top another name")

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        for name, shape in zip(self.layer.bottom, bottoms, strict=True):
            if shape != bottoms[0]:
                raise ShapeError(
                    f"bottom '{name}' has shape {list(shape)}, but the first one has {list(bottoms[0])}, and "
                    "they must be the same; connect bottoms of one shape"
                )
        return [bottoms[0]]

    def forward(self, *bottoms: Tensor) -> Tensor:
        if self.operation == pb.EltwiseParameter.PROD:
            return reduce(torch.mul, bottoms)
        if self.operation == pb.EltwiseParameter.MAX:
            return _largest(*bottoms)
        if self.loses_first:
            return self._sum_in_place(*bottoms)
        if self.coeff == [1.0, 1.0] and (overwritten := self.overwritten()):
            place = overwritten[0]
            return bottoms[place].add_(bottoms[1 - place])
        return _sum(bottoms, self.coeff)

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
        pairs = list(zip(bottoms, self.coeff, strict=True))
        terms = [scaled(g, bottom, coeff) for bottom, coeff in pairs[self.loses_first :]]
        return g.node("Add" if len(terms) == 2 else "Sum", *terms)

    def _sum_in_place(self, first: Tensor, *others: Tensor) -> Tensor:
        total: Tensor = _InFirstMemory.apply(first, _sum(others, self.coeff[1:]), self.coeff[0])  # type: ignore[no-untyped-call]
        return total


def _sum(bottoms: Sequence[Tensor], coeff: Sequence[float]) -> Tensor:
    total = bottoms[0] * coeff[0] if coeff[0] != 1 else bottoms[0]
    for bottom, factor in zip(bottoms[1:], coeff[1:], strict=True):
        total = torch.add(total, bottom, alpha=factor)
    return total


class _InFirstMemory(torch.autograd.Function):
    """Computes the sum of the other bottoms.

    Their gradient shares memory with the first bottom's, which is already scaled.
    """

    @staticmethod
    def forward(ctx: Any, first: Tensor, others: Tensor, coeff: float) -> Tensor:
        ctx.coeff = coeff
        return others.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        scaled_gradient = gradients[0] * ctx.coeff if ctx.needs_input_grad[0] and ctx.coeff != 1 else gradients[0]
        return scaled_gradient, scaled_gradient, None


def _largest(first: Tensor, second: Tensor, *others: Tensor) -> Tensor:
    """Return the maximum.

    Caffe's rule: among equal values, the second bottom gets the gradient, or else the first of the others.
    """
    largest = torch.where(first > second, first, second)
    for other in others:
        largest = torch.where(other > largest, other, largest)
    return largest
