"""Threshold: whether each value is above a limit."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import OnnxGraph, Shape
from netdsl.layers._elementwise import Elementwise


class Threshold(Elementwise):
    """Computes 1 where x > threshold, and 0 elsewhere."""

    config = pb.ThresholdParameter
    no_gradient = (0,)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.threshold = layer.threshold_param.threshold

    def forward(self, x: Tensor) -> Tensor:
        return (x > self.threshold).to(x.dtype)

    def onnx(self, g: OnnxGraph, x: str) -> str:
        return g.to_float(g.node("Greater", x, g.constant(self.threshold)))
