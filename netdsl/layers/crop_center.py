"""CropCenter: a blob without the borders of each axis."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import trimmed


class CropCenter(HasOnnxForm):
    """Removes `crop_size` values at both ends of each axis."""

    origin = "waifu2x-caffe"
    config = pb.CropCenterParameter
    any_layout = True

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        (x,), sizes = bottoms, list(layer.crop_center_param.crop_size)
        if len(sizes) != len(x):
            raise NetError(f"there are {len(sizes)} crop_size for {len(x)} axes; give one for each")
        for axis, (size, length) in enumerate(zip(sizes, x, strict=True)):
            if 2 * size >= length:
                raise ShapeError(f"crop_size {size} leaves nothing of axis {axis}, whose length is {length}; lower it")
        self.cropped = {axis: size for axis, size in enumerate(sizes) if size}

    def forward(self, x: Tensor) -> Tensor:
        for axis, size in self.cropped.items():
            x = x.narrow(axis, size, x.shape[axis] - 2 * size)
        return x

    def onnx(self, g: OnnxGraph, x: str) -> str:
        top = x
        for axis, size in self.cropped.items():
            top = trimmed(g, top, axis, size, size)
        return top
