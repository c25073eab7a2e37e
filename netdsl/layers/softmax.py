"""Softmax: scores become probabilities."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import OnnxGraph, Shape, axis_of
from netdsl.layers._elementwise import Elementwise
from netdsl.layers._forks import refuse


class Softmax(Elementwise):
    """exp(x), divided by its sum along an axis."""

    config = pb.SoftmaxParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        refuse(layer.softmax_param, "normalize_type")
        self.axis = axis_of(layer.softmax_param.axis, len(bottoms[0]))

    def forward(self, x: Tensor) -> Tensor:
        return x.softmax(self.axis)

    def onnx(self, g: OnnxGraph, x: str) -> str:
        return g.node("Softmax", x, axis=self.axis)
