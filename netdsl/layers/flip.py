"""Flip: mirrored images."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import reversed_along


class Flip(HasOnnxForm):
    """Mirrors images left to right with `flip_width`, and top to bottom with `flip_height`."""

    config = pb.FlipParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        if len(bottoms[0]) != 4:
            raise ShapeError(
                f"the bottom must be images with 4 axes, but it has {len(bottoms[0])}; reshape it to 4 axes "
                "with a Reshape layer"
            )
        p = layer.flip_param
        self.axes = [axis for axis, flips in ((2, p.flip_height), (3, p.flip_width)) if flips]

    def forward(self, x: Tensor) -> Tensor:
        return x.flip(self.axes)

    def onnx(self, g: OnnxGraph, x: str) -> str:
        for axis in self.axes:
            x = reversed_along(g, x, axis)
        return x
