"""Crop: a part of a blob with the size of another one."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape, axis_of
from netdsl.layer.onnx_form import Length, computed, length_of, part
from netdsl.layer.samples import BlobKind


class Crop(HasOnnxForm):
    """Crops the first bottom to the size of the second one from `axis` on. The part starts at `offset`."""

    config = pb.CropParameter
    bottoms = (2, 2)
    any_layout = True
    no_gradient = (1,)
    bottom_kinds = (BlobKind.NUMBER, BlobKind.NUMBER)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p, (x, reference) = layer.crop_param, bottoms
        self.axis = axis_of(p.axis, len(x))
        cropped = len(x) - self.axis
        if len(p.offset) > 1 and len(p.offset) != cropped:
            raise NetError(f"{cropped} axes are cropped, from axis {self.axis} on; give one offset, or {cropped}")
        if len(reference) < len(x):
            raise ShapeError(
                f"the second bottom has {len(reference)} axes, but the first has {len(x)}; give both the same "
                "number of axes with a Reshape layer"
            )
        self.offsets = list(p.offset) if len(p.offset) > 1 else [*p.offset, 0][:1] * cropped
        for axis, offset in enumerate(self.offsets, self.axis):
            if offset + reference[axis] > x[axis]:
                what = f"offset {offset} plus length {reference[axis]}"
                raise ShapeError(f"{what} exceeds the length {x[axis]} of axis {axis}; lower the offset")

    def forward(self, x: Tensor, reference: Tensor) -> Tensor:
        for axis, offset in enumerate(self.offsets, self.axis):
            x = x.narrow(axis, offset, reference.shape[axis])
        return x

    def onnx(self, g: OnnxGraph, x: str, reference: str) -> str:
        top = x
        for axis, offset in enumerate(self.offsets, self.axis):
            if axis == 0:  # batches of other sizes may have no items at the offset
                length: Length = g.length(reference, axis)
                own = g.length(x, axis)
            else:
                length, own = length_of(g, reference, axis), g.shape(x)[axis]
            top = part(g, top, axis, offset, computed(g, "Add", length, offset)) if length != own else top
        return top
