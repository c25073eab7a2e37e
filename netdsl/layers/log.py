"""Log: a logarithm to a constant base."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layer import OnnxGraph, Shape
from netdsl.layer.onnx_form import scaled
from netdsl.layer.running import Reads, ReadsInBackward
from netdsl.layers._elementwise import Elementwise, affine, log_of_base


class Log(Elementwise, ReadsInBackward):
    """Computes the logarithm of shift + scale * x to the given base."""

    config = pb.LogParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.log_param
        self.scale, self.shift = p.scale, p.shift
        self.log = log_of_base(p.base)
        if not self.log:
            raise NetError("base 1 has no logarithm; set another number above 0, or -1 for e")

    def forward(self, x: Tensor) -> Tensor:
        top = affine(x, self.scale, self.shift).log()
        return top / self.log if self.log != 1 else top

    def reads_bottoms(self) -> Reads:
        return Reads.VALUES

    def loses_gradient(self) -> bool:
        return True

    def caffe_gradients(
        self, seen: Sequence[Tensor], bottoms: Sequence[Tensor], tops: Sequence[Tensor], gradients: Sequence[Tensor]
    ) -> Sequence[Tensor | None]:
        slope = self.scale / self.log / affine(bottoms[0], self.scale, self.shift)
        return [slope * (slope if self.is_in_place() else gradients[0])]

    def onnx(self, g: OnnxGraph, x: str) -> str:
        top = g.node("Log", scaled(g, x, self.scale, self.shift))
        return scaled(g, top, 1 / self.log)
