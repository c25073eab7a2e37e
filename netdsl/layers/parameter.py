"""Parameter: a learned blob that other layers read."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape, new_blob


class Parameter(HasOnnxForm):
    """Its top is its blob. Caffe starts it at 0, a fork has a filler for it."""

    config = pb.ParameterParameter
    blobs = ("value",)
    bottoms = (0, 0)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.parameter_param
        self.value = new_blob(p.blob_filler, tuple(p.shape.dim))

    def forward(self) -> Tensor:
        value: Tensor = self.value
        return value.view_as(value)

    def onnx(self, g: OnnxGraph) -> str:
        return g.blob(self, "value")
