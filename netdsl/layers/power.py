"""Power: a power of the scaled and shifted bottom."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import OnnxGraph, Shape
from netdsl.layer.onnx_form import scaled
from netdsl.layer.running import KeepsSigns, Reads, ReadsInBackward
from netdsl.layers._elementwise import Elementwise, affine


class Power(Elementwise, KeepsSigns, ReadsInBackward):
    """Computes (shift + scale * x) ** power."""

    config = pb.PowerParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.power_param
        self.power, self.scale, self.shift = p.power, p.scale, p.shift

    def forward(self, x: Tensor) -> Tensor:
        if not self.power * self.scale:  # Caffe's rule: the result is constant even if the bottom is infinite
            return torch.full_like(x, self.shift).pow(self.power)
        top = affine(x, self.scale, self.shift)
        return top.pow(self.power) if self.power != 1 else top

    def keeps_signs(self) -> bool:
        return self.power == 1 and self.scale > 0 and not self.shift

    def reads_bottoms(self) -> Reads:
        return Reads.NOTHING if self.power == 1 or not self.power * self.scale else Reads.VALUES

    def reads_tops(self) -> Reads:
        return Reads.NOTHING if self.power == 2 else self.reads_bottoms()

    def loses_gradient(self) -> bool:
        return bool(self.power * self.scale)

    def caffe_gradients(
        self, seen: Sequence[Tensor], bottoms: Sequence[Tensor], tops: Sequence[Tensor], gradients: Sequence[Tensor]
    ) -> Sequence[Tensor | None]:
        slope = self._slope(bottoms[0], tops[0])
        return [slope * (slope if self.is_in_place() else gradients[0])]

    def _slope(self, bottom: Tensor, top: Tensor) -> Tensor:
        """Return the derivative. Caffe's rule: it is power * top / base, except for powers of 1 and 2."""
        slope = self.power * self.scale
        if self.power == 1 or not slope:
            return torch.full_like(bottom, slope)
        base = affine(bottom, self.scale, self.shift)
        return slope * (base if self.power == 2 else top / base)

    def onnx(self, g: OnnxGraph, x: str) -> str:
        if not self.power * self.scale:
            return g.node("Expand", g.constant(float(torch.tensor(self.shift).pow(self.power))), g.node("Shape", x))
        top = scaled(g, x, self.scale, self.shift)
        return g.node("Pow", top, g.constant(self.power)) if self.power != 1 else top
