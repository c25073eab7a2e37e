"""Interp: bilinear resizing, with the corners of bottom and top aligned."""

from __future__ import annotations

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import part


class Interp(HasOnnxForm):
    """The bottom, cropped by negative padding, at another size.

    A `zoom_factor` counts the steps between pixels, and Synopsys' `full_zoom_factor` the pixels.
    """

    config = pb.InterpParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.interp_param
        if len(bottoms[0]) != 4:
            raise ShapeError(f"resizes images: the bottom needs 4 axes, and has {len(bottoms[0])}")
        if p.pad_beg > 0 or p.pad_end > 0:
            raise NetError("pad_beg and pad_end can only crop: they must be 0 or less")
        if min(p.shrink_factor, p.zoom_factor, p.full_zoom_factor) < 1:
            raise NetError("shrink_factor, zoom_factor and full_zoom_factor must be 1 or more")
        self.crop, self.shrink, self.zoom = (-p.pad_beg, -p.pad_end), p.shrink_factor, p.zoom_factor
        self.fixed = _fixed(p)
        self.full_zoom = p.full_zoom_factor if _is_full_zoom(p) else 0
        if min(bottoms[0][2:]) <= sum(self.crop):
            raise ShapeError("pad_beg and pad_end crop all that there is")

    def forward(self, x: Tensor) -> Tensor:
        begin, end = self.crop
        x = x[:, :, begin : x.shape[2] - end, begin : x.shape[3] - end]
        size = self.fixed or (self._length(x.shape[2]), self._length(x.shape[3]))
        return F.interpolate(x, size, mode="bilinear", align_corners=True)

    def onnx(self, g: OnnxGraph, x: str) -> str:
        begin, end = self.crop
        sizes = [g.length(x, axis) for axis in (2, 3)]
        for axis, size in enumerate(sizes, 2):
            x = part(g, x, axis, begin, size - end) if begin or end else x
        new_sizes = self.fixed or [self._length(size - begin - end) for size in sizes]
        how = {"mode": "linear", "coordinate_transformation_mode": "align_corners"}
        return g.node("Resize", x, "", "", g.constant(new_sizes), axes=[2, 3], **how)

    def _length(self, length: int) -> int:
        return length * self.full_zoom or (length - 1) // self.shrink * self.zoom + 1


def _fixed(p: pb.InterpParameter) -> tuple[int, int] | None:
    """Caffe's rule: one factor alone comes first, then height and width, then both factors."""
    shrinks, zooms = p.HasField("shrink_factor"), p.HasField("zoom_factor")
    if shrinks != zooms:
        return None
    if p.HasField("height") and p.HasField("width"):
        if min(p.height, p.width) < 1:
            raise NetError("height and width must be positive")
        return p.height, p.width
    if not shrinks and not p.HasField("full_zoom_factor"):
        raise NetError("needs a shrink_factor, a zoom_factor, or both height and width")
    return None


def _is_full_zoom(p: pb.InterpParameter) -> bool:
    """Synopsys' rule: it counts only if nothing else says the size."""
    others = p.HasField("shrink_factor") or p.HasField("zoom_factor") or (p.HasField("height") and p.HasField("width"))
    return p.HasField("full_zoom_factor") and not others
