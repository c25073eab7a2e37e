"""Reorg: the pixels of blocks become channels, or channels become blocks, in darknet's order."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import reshaped, transposed


class Reorg(HasOnnxForm):
    """Blocks of stride x stride pixels and the channels change places.

    Darknet's rule: going down, the numbers are read as if they were an image of fewer channels and more pixels, so
    that channels are mixed; that image's blocks become channels, and only their count and not their shape is kept.
    """

    config = pb.ReorgParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.stride, self.reverse = layer.reorg_param.stride, layer.reorg_param.reverse
        if self.stride < 1:
            raise NetError("needs a stride of 1 or more")
        if len(bottoms[0]) != 4:
            raise ShapeError(f"works on images: the bottom needs 4 axes, and has {len(bottoms[0])}")
        channels, height, width = bottoms[0][1:]
        if channels % self.stride**2:
            raise ShapeError(f"{channels} channels can't be parted into {self.stride}x{self.stride} blocks")
        if not self.reverse and (height % self.stride or width % self.stride):
            raise ShapeError(f"stride {self.stride} doesn't divide the image of {height}x{width}")

    def forward(self, x: Tensor) -> Tensor:
        count, channels, height, width = x.shape
        s = self.stride
        if self.reverse:
            blocks = x.reshape(count, s, s, channels // s**2, height, width)
            return blocks.permute(0, 3, 4, 1, 5, 2).reshape(count, channels // s**2, height * s, width * s)
        image = x.reshape(count, channels // s**2, height, s, width, s)
        return image.permute(0, 3, 5, 1, 2, 4).reshape(count, channels * s**2, height // s, width // s)

    def onnx(self, g: OnnxGraph, x: str) -> str:
        channels, height, width = (g.length(x, axis) for axis in (1, 2, 3))
        s = self.stride
        if self.reverse:
            blocks = reshaped(g, x, 0, s, s, channels // s**2, height, width)
            return reshaped(g, transposed(g, blocks, 0, 3, 4, 1, 5, 2), 0, channels // s**2, height * s, width * s)
        image = reshaped(g, x, 0, channels // s**2, height, s, width, s)
        return reshaped(g, transposed(g, image, 0, 3, 5, 1, 2, 4), 0, channels * s**2, height // s, width // s)
