"""DepthToSpace: blocks of channels rearranged as blocks of pixels."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import transposed

_FORMATS = ("NHWC", "NCHW", "DCR", "CRD")


class DepthToSpace(HasOnnxForm):
    """Multiplies height and width by `block_size` and divides the channels by its square.

    A channel's index consists of a position in the block and an output channel. With NHWC, NCHW and DCR, the output
    channel varies faster. With CRD, the position varies faster.
    """

    config = pb.DepthToSpaceParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p, shape = layer.depth_to_space_param, bottoms[0]
        self.block, self.order = p.block_size, p.data_format
        if self.order not in _FORMATS:
            raise NetError(f"data_format is '{self.order}'; set it to one of {', '.join(_FORMATS)}")
        if len(shape) != 4:
            raise ShapeError(
                f"the bottom must be images with 4 axes, but it has {len(shape)}; reshape it to 4 axes with a "
                "Reshape layer"
            )
        channels = shape[3 if self.order == "NHWC" else 1]
        if self.block < 1 or channels % self.block**2:
            raise NetError(
                f"the square of block_size {self.block} doesn't divide the {channels} channels; set a "
                "block_size whose square divides them, or another num_output in the layer before it"
            )

    def forward(self, x: Tensor) -> Tensor:
        b = self.block
        if self.order == "NHWC":
            n, h, w, c = x.shape
            return x.view(n, h, w, b, b, c // b**2).permute(0, 1, 3, 2, 4, 5).reshape(n, h * b, w * b, c // b**2)
        n, c, h, w = x.shape
        if self.order == "CRD":
            blocks = x.view(n, c // b**2, b, b, h, w).permute(0, 1, 4, 2, 5, 3)
        else:
            blocks = x.view(n, b, b, c // b**2, h, w).permute(0, 3, 4, 1, 5, 2)
        return blocks.reshape(n, c // b**2, h * b, w * b)

    def onnx(self, g: OnnxGraph, x: str) -> str:
        if self.order != "NHWC":
            return g.node("DepthToSpace", x, blocksize=self.block, mode="CRD" if self.order == "CRD" else "DCR")
        top = g.node("DepthToSpace", transposed(g, x, 0, 3, 1, 2), blocksize=self.block, mode="DCR")
        return transposed(g, top, 0, 2, 3, 1)
