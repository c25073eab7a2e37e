"""ShuffleChannel: channels of all groups interleaved, so that the next grouped convolution sees each group."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import UNKNOWN, length_of, reshaped, transposed


class ShuffleChannel(HasOnnxForm):
    """Moves channel k of group g to place k * groups + g. The top has four axes, and missing ones have length 1."""

    config = pb.ShuffleChannelParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.group = layer.shuffle_channel_param.group
        if not 2 <= len(bottoms[0]) <= 4:
            raise ShapeError(
                f"the bottom must have channels and at most two further axes, not shape {list(bottoms[0])}; "
                "change it with a Reshape layer"
            )
        if self.group < 1 or bottoms[0][1] % self.group:
            raise NetError(
                f"group {self.group} doesn't divide the {bottoms[0][1]} channels; set it to a number that does"
            )

    def forward(self, x: Tensor) -> Tensor:
        groups = x.reshape(len(x), self.group, -1, *x.shape[2:])
        top = groups.transpose(1, 2).flatten(1, 2)
        return top.reshape(*top.shape, *(1,) * (4 - top.dim()))

    def onnx(self, g: OnnxGraph, x: str) -> str:
        rest = [length_of(g, x, axis) for axis in range(2, len(g.shape(x)))]
        groups = reshaped(g, x, 0, self.group, UNKNOWN, *rest)
        swapped = transposed(g, groups, 0, 2, 1, *range(3, 3 + len(rest)))
        return reshaped(g, swapped, 0, UNKNOWN, *rest, *(1,) * (2 - len(rest)))
