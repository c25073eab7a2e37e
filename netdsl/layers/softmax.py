"""Softmax: scores converted to probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import OnnxGraph, Shape, axis_of
from netdsl.layer.deploying import HasInverse
from netdsl.layer.running import Reads, ReadsInBackward
from netdsl.layer.tops import Meaning, ShowsMeaning
from netdsl.layers._elementwise import Elementwise
from netdsl.layers._settings import refuse


class Softmax(Elementwise, HasInverse, ReadsInBackward, ShowsMeaning):
    """Computes exp(x), divided by its sum along an axis."""

    meaning = Meaning.CLASSES
    config = pb.SoftmaxParameter
    any_layout = False  # torch would copy such a bottom and return a top with channels first

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        refuse(layer.softmax_param, "normalize_type")
        self.axis = axis_of(layer.softmax_param.axis, len(bottoms[0]))

    def forward(self, x: Tensor) -> Tensor:
        return x.softmax(self.axis)

    def inverse(self, top: Tensor) -> Tensor:
        return top.clamp(torch.finfo(top.dtype).tiny).log()

    def reads_tops(self) -> Reads:
        return Reads.VALUES

    def caffe_gradients(
        self, seen: Sequence[Tensor], bottoms: Sequence[Tensor], tops: Sequence[Tensor], gradients: Sequence[Tensor]
    ) -> Sequence[Tensor | None]:
        along = (gradients[0] * tops[0]).sum(self.axis, keepdim=True)
        return [(gradients[0] - along) * tops[0]]

    def onnx(self, g: OnnxGraph, x: str) -> str:
        return g.node("Softmax", x, axis=self.axis)
