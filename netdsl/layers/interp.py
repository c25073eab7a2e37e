"""Interp: bilinear resizing with aligned corners."""

from __future__ import annotations

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import Length, computed, interpolated, length_of, trimmed
from netdsl.layer.samples import BlobKind
from netdsl.layers._window import set_names


class Interp(HasOnnxForm):
    """Resizes the bottom, after negative padding crops it.

    A `zoom_factor` multiplies the steps between pixels, and Synopsys' `full_zoom_factor` the number of pixels. In some
    forks, a second bottom can provide the size. In that case, the settings must not contain one.
    """

    config = pb.InterpParameter
    bottoms = (1, 2)
    no_gradient = (1,)
    bottom_kinds = (BlobKind.NUMBER, BlobKind.NUMBER)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.interp_param
        if any(len(shape) != 4 for shape in bottoms):
            axes = " and ".join(str(len(shape)) for shape in bottoms)
            raise ShapeError(
                f"all bottoms must be images with 4 axes, not {axes}; reshape them to 4 axes with Reshape layers"
            )
        if p.pad_beg > 0 or p.pad_end > 0:
            raise NetError("pad_beg and pad_end can only crop; set them to 0 or less")
        if min(p.shrink_factor, p.zoom_factor, p.full_zoom_factor) < 1:
            raise NetError("shrink_factor, zoom_factor or full_zoom_factor is less than 1; set it to 1 or more")
        self.crop, self.shrink, self.zoom = (-p.pad_beg, -p.pad_end), p.shrink_factor, p.zoom_factor
        self.fixed = _fixed(p) if len(bottoms) == 1 else None
        if len(bottoms) == 2:
            _check_second(p, bottoms)
        self.full_zoom = p.full_zoom_factor if _is_full_zoom(p) else 0
        if min(bottoms[0][2:]) <= sum(self.crop):
            raise ShapeError("pad_beg and pad_end crop the whole image; set them nearer to 0")

    def forward(self, x: Tensor, sized: Tensor | None = None) -> Tensor:
        begin, end = self.crop
        x = x[:, :, begin : x.shape[2] - end, begin : x.shape[3] - end]
        fixed = self.fixed if sized is None else (sized.shape[2], sized.shape[3])
        size = fixed or (self._length(x.shape[2]), self._length(x.shape[3]))
        return F.interpolate(x, size, mode="bilinear", align_corners=True)

    def onnx(self, g: OnnxGraph, x: str, sized: str = "") -> str:
        begin, end = self.crop
        sizes = [computed(g, "Sub", length_of(g, x, axis), begin + end) for axis in (2, 3)]
        fixed = (length_of(g, sized, 2), length_of(g, sized, 3)) if sized else self.fixed
        for axis in (2, 3):
            x = trimmed(g, x, axis, begin, end)
        return interpolated(g, x, sizes, fixed or [self._length_onnx(g, size) for size in sizes])

    def _length_onnx(self, g: OnnxGraph, length: Length) -> Length:
        if self.full_zoom:
            return computed(g, "Mul", length, self.full_zoom)
        steps = computed(g, "Div", computed(g, "Sub", length, 1), self.shrink)
        return computed(g, "Add", computed(g, "Mul", steps, self.zoom), 1)

    def _length(self, length: int) -> int:
        return length * self.full_zoom or (length - 1) // self.shrink * self.zoom + 1


def _fixed(p: pb.InterpParameter) -> tuple[int, int] | None:
    """Return the fixed size, if one is set.

    Caffe's rule: a single factor comes first, then height and width, then both factors.
    """
    shrinks, zooms = p.HasField("shrink_factor"), p.HasField("zoom_factor")
    if shrinks != zooms:
        return None
    if p.HasField("height") and p.HasField("width"):
        if min(p.height, p.width) < 1:
            raise NetError(f"height is {p.height} and width is {p.width}; set both to 1 or more")
        return p.height, p.width
    if not shrinks and not p.HasField("full_zoom_factor"):
        raise NetError("the size isn't set; set shrink_factor, zoom_factor, or both height and width")
    return None


def _check_second(p: pb.InterpParameter, bottoms: Sequence[Shape]) -> None:
    """Raise an error if both the second bottom and the settings determine a size, which the fork doesn't allow."""
    said = [name for name in set_names(p) if not name.startswith("pad_")]
    if said:
        raise NetError(
            f"both {said[0]} and the second bottom determine the size; remove these settings, or the second bottom"
        )
    if bottoms[0][0] != bottoms[1][0]:
        raise ShapeError(
            f"both bottoms must have the same batch size, not {bottoms[0][0]} and {bottoms[1][0]}; connect bottoms "
            "of one batch"
        )


def _is_full_zoom(p: pb.InterpParameter) -> bool:
    """Return whether `full_zoom_factor` applies. Synopsys' rule: it does only if no other setting determines the
    size."""
    others = p.HasField("shrink_factor") or p.HasField("zoom_factor") or (p.HasField("height") and p.HasField("width"))
    return p.HasField("full_zoom_factor") and not others
