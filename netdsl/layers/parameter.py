"""Parameter: a learned blob as a top for other layers."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape, new_blob


class Parameter(HasOnnxForm):
    """Outputs its blob. Caffe initializes the blob with 0, and a fork with a filler."""

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
