"""Sigmoid: the logistic function."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import OnnxGraph
from netdsl.layer.deploying import HasInverse
from netdsl.layer.running import Reads, ReadsInBackward
from netdsl.layer.tops import Meaning, ShowsMeaning
from netdsl.layers._elementwise import Elementwise


class Sigmoid(Elementwise, HasInverse, ReadsInBackward, ShowsMeaning):
    """Computes 1 / (1 + exp(-x))."""

    meaning = Meaning.CLASSES
    config = pb.SigmoidParameter

    def forward(self, x: Tensor) -> Tensor:
        return x.sigmoid()

    def inverse(self, top: Tensor) -> Tensor:
        return top.logit(torch.finfo(top.dtype).eps)

    def reads_tops(self) -> Reads:
        return Reads.PASSED

    def caffe_gradients(
        self, seen: Sequence[Tensor], bottoms: Sequence[Tensor], tops: Sequence[Tensor], gradients: Sequence[Tensor]
    ) -> Sequence[Tensor | None]:
        return [gradients[0] * tops[0] * (1 - tops[0])]

    def onnx(self, g: OnnxGraph, x: str) -> str:
        return g.node("Sigmoid", x)
