"""Sigmoid: the logistic function."""

from __future__ import annotations

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import OnnxGraph
from netdsl.layers._elementwise import Elementwise


class Sigmoid(Elementwise):
    """1 / (1 + exp(-x))."""

    config = pb.SigmoidParameter

    def forward(self, x: Tensor) -> Tensor:
        return x.sigmoid()

    def onnx(self, g: OnnxGraph, x: str) -> str:
        return g.node("Sigmoid", x)
