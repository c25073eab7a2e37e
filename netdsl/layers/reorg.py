"""Reorg: blocks of pixels rearranged as channels, or the reverse, in darknet's order."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import computed, length_of, reshaped, transposed


class Reorg(HasOnnxForm):
    """Rearranges blocks of stride x stride pixels as channels, or the reverse with `reverse`.

    Darknet's rule for the first direction: the values are read as an image with fewer channels and more pixels, and the
    blocks of that image become channels. This mixes channels.
    """

    config = pb.ReorgParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.stride, self.reverse = layer.reorg_param.stride, layer.reorg_param.reverse
        if self.stride < 1:
            raise NetError(f"stride is {self.stride}; set it to 1 or more")
        if len(bottoms[0]) != 4:
            raise ShapeError(
                f"the bottom must be images with 4 axes, but it has {len(bottoms[0])}; reshape it to 4 axes "
                "with a Reshape layer"
            )
        channels, height, width = bottoms[0][1:]
        if channels % self.stride**2:
            raise ShapeError(
                f"the {channels} channels aren't a multiple of {self.stride}x{self.stride}; set num_output of "
                "the layer before it to one"
            )
        if not self.reverse and (height % self.stride or width % self.stride):
            raise ShapeError(
                f"stride {self.stride} doesn't divide the image of {height}x{width}; set a stride that divides it"
            )

    def forward(self, x: Tensor) -> Tensor:
        count, channels, height, width = x.shape
        s = self.stride
        if self.reverse:
            blocks = x.reshape(count, s, s, channels // s**2, height, width)
            return blocks.permute(0, 3, 4, 1, 5, 2).reshape(count, channels // s**2, height * s, width * s)
        image = x.reshape(count, channels // s**2, height, s, width, s)
        return image.permute(0, 3, 5, 1, 2, 4).reshape(count, channels * s**2, height // s, width // s)

    def onnx(self, g: OnnxGraph, x: str) -> str:
        channels, s = g.length(x, 1), self.stride
        sizes = [length_of(g, x, axis) for axis in (2, 3)]
        height, width = (computed(g, "Mul" if self.reverse else "Div", size, s) for size in sizes)
        if self.reverse:
            blocks = reshaped(g, x, 0, s, s, channels // s**2, *sizes)
            return reshaped(g, transposed(g, blocks, 0, 3, 4, 1, 5, 2), 0, channels // s**2, height, width)
        image = reshaped(g, x, 0, channels // s**2, sizes[0], s, sizes[1], s)
        return reshaped(g, transposed(g, image, 0, 3, 5, 1, 2, 4), 0, channels * s**2, height, width)
