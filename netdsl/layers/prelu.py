"""PReLU: a ReLU with a learned slope for negative values."""

from __future__ import annotations

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import OnnxGraph, Shape, new_blob
from netdsl.layer.running import Reads, ReadsInBackward
from netdsl.layers._elementwise import Elementwise


class PReLU(Elementwise, ReadsInBackward):
    """Computes max(x, 0) + slope * min(x, 0), with a slope for each channel or one for all."""

    config = pb.PReLUParameter
    blobs = ("slope",)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.prelu_param
        if len(bottoms[0]) < 2:
            raise ShapeError(
                f"the bottom {list(bottoms[0])} must have a second axis, the channels; add the axis with a Reshape "
                "layer"
            )
        shape = () if p.channel_shared else bottoms[0][1:2]
        self.slope = new_blob(p.filler, shape, value=None if p.HasField("filler") else 0.25)

    def forward(self, x: Tensor) -> Tensor:
        return F.prelu(x, self.slope)

    def reads_bottoms(self) -> Reads:
        return Reads.NOTHING if self.is_in_place() else Reads.VALUES

    def onnx(self, g: OnnxGraph, x: str) -> str:
        channels = self.slope.shape or (1,)
        return g.node("PRelu", x, g.blob(self, "slope", (*channels, *(1,) * (len(g.shape(x)) - 2))))
