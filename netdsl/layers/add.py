"""Add: the sum of two blobs, with broadcasting."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layers._elementwise import check_pair


class Add(HasOnnxForm):
    """Computes a + b. Axes of length 1 are broadcast."""

    origin = "several forks"
    bottoms = (2, 2)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        check_pair(bottoms)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return a + b

    def onnx(self, g: OnnxGraph, a: str, b: str) -> str:
        return g.node("Add", a, b)
