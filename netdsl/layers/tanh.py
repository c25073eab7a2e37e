"""TanH: the hyperbolic tangent."""

from __future__ import annotations

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import OnnxGraph
from netdsl.layers._elementwise import Elementwise


class TanH(Elementwise):
    """tanh(x)."""

    config = pb.TanHParameter

    def forward(self, x: Tensor) -> Tensor:
        return x.tanh()

    def onnx(self, g: OnnxGraph, x: str) -> str:
        return g.node("Tanh", x)
