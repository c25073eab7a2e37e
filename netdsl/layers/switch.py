"""Switch: rtpose's choice among several bottoms, for inspecting earlier stages of a net."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape


class Switch(HasOnnxForm):
    """Copies the last bottom. rtpose's program can choose another one at run time, but a net can't."""

    origin = "OpenPose"
    bottoms = (1, None)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        if len(set(bottoms)) > 1:
            raise ShapeError(
                f"all bottoms must have the same shape, not {' and '.join(map(str, map(list, bottoms)))}; connect "
                "bottoms of one shape"
            )

    def forward(self, *bottoms: Tensor) -> Tensor:
        return bottoms[-1].view_as(bottoms[-1])

    def onnx(self, g: OnnxGraph, *bottoms: str) -> str:
        return g.node("Identity", bottoms[-1])
