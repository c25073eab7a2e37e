"""UpsampleDarknet: each pixel of an image repeated in a square."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.deploying import ComputedByOthers, NewLayer
from netdsl.layer.onnx_form import repeated
from netdsl.layers._repeating import repeating_layer


class UpsampleDarknet(HasOnnxForm, ComputedByOthers):
    """Repeats each pixel `stride` times along both sides."""

    config = pb.UpsampleDarknetParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.stride = layer.upsample_darknet_param.stride
        if self.stride < 1:
            raise NetError(f"stride is {self.stride}; set it to 1 or more")
        if len(bottoms[0]) != 4:
            raise ShapeError(
                f"the bottom must be images with 4 axes, but it has {len(bottoms[0])}; reshape it to 4 axes "
                "with a Reshape layer"
            )
        self.channels = bottoms[0][1]

    def forward(self, x: Tensor) -> Tensor:
        return x.repeat_interleave(self.stride, 2).repeat_interleave(self.stride, 3)

    def onnx(self, g: OnnxGraph, x: str) -> str:
        return repeated(g, x, self.stride, self.stride)

    def in_other_layers(self) -> list[NewLayer]:
        return [repeating_layer(self.layer, self.channels, self.stride)]
