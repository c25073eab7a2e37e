"""Upsample: a larger image, by undoing a pooling or by repeating pixels."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.deploying import ComputedByOthers, NewLayer
from netdsl.layer.onnx_form import computed, length_of, repeated
from netdsl.layers._pooling import check_mask, put_back, put_back_onnx
from netdsl.layers._repeating import repeating_layer


class Upsample(HasOnnxForm, ComputedByOthers):
    """Enlarges an image.

    SegNet's version undoes a pooling, whose mask is the second bottom. YOLO's version repeats each pixel. Without a
    `scale`, SegNet's version doubles the size and YOLO's keeps it.
    """

    config = pb.UpsampleParameter
    bottoms = (1, 2)
    no_gradient = (1,)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.upsample_param
        if any(len(shape) != 4 for shape in bottoms):
            raise ShapeError("all bottoms must be images with 4 axes; reshape them to 4 axes with Reshape layers")
        scale = p.scale if p.HasField("scale") or len(bottoms) == 2 else 1
        self.scales = (p.scale_h, p.scale_w) if p.HasField("scale_h") else (scale, scale)
        self.missing = (int(p.pad_out_h), int(p.pad_out_w))
        self.channels = bottoms[0][1]
        self.fixed = (p.upsample_h, p.upsample_w) if p.HasField("upsample_h") and p.HasField("upsample_w") else None
        if len(bottoms) == 2:
            self._check_unpooling(p, bottoms)
        elif any(p.HasField(name) for name in ("scale_h", "scale_w", "upsample_h", "upsample_w")):
            raise NetError(
                "only `scale` can be set for a single bottom; add the mask of a pooling as the second bottom, or "
                "set `scale`"
            )
        elif scale < 1:
            raise NetError(f"scale is {scale}; set it to 1 or more")

    def _check_unpooling(self, p: pb.UpsampleParameter, bottoms: Sequence[Shape]) -> None:
        check_mask(bottoms)
        if self.fixed:
            if min(self.fixed) < 2:
                raise NetError("upsample_h or upsample_w is less than 2; set both to 2 or more")
            return
        if p.HasField("scale_h") != p.HasField("scale_w") or (p.HasField("scale_h") and p.HasField("scale")):
            raise NetError("the size isn't set; set upsample_h and upsample_w, or scale, or scale_h and scale_w")
        if min(self.scales) < 2:
            raise NetError("a scale is less than 2; set scale, or scale_h and scale_w, to 2 or more")
        if any(missing and scale != 2 for missing, scale in zip(self.missing, self.scales, strict=True)):
            raise NetError("pad_out_h and pad_out_w need a scale of 2; remove them or set scale: 2")

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        (scale_h, scale_w), (missing_h, missing_w) = self.scales, self.missing
        if mask is None:
            return x.repeat_interleave(scale_h, 2).repeat_interleave(scale_w, 3)
        height, width = self.fixed or (x.shape[2] * scale_h - missing_h, x.shape[3] * scale_w - missing_w)
        return put_back(x, mask, height, width)

    def onnx(self, g: OnnxGraph, x: str, mask: str = "") -> str:
        if not mask:
            return repeated(g, x, *self.scales)
        (scale_h, scale_w), (missing_h, missing_w) = self.scales, self.missing
        height, width = self.fixed or (
            computed(g, "Sub", computed(g, "Mul", length_of(g, x, axis), scale), missing)
            for axis, scale, missing in ((2, scale_h, missing_h), (3, scale_w, missing_w))
        )
        return put_back_onnx(g, x, mask, height, width)

    def in_other_layers(self) -> list[NewLayer] | None:
        """Return a deconvolution, or `None` if the layer undoes a pooling."""
        return None if len(self.layer.bottom) == 2 else [repeating_layer(self.layer, self.channels, self.scales[0])]
