"""Normalize: vectors of length 1, scaled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape, new_blob
from netdsl.layer.onnx_form import reduced, scaled
from netdsl.layers._forks import refuse


class Normalize(HasOnnxForm):
    """scale * x / sqrt(sum of x² + eps), with the sum over channels, or over the whole item with `across_spatial`."""

    config = pb.NormalizeParameter
    blobs = ("scale",)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        if len(bottoms[0]) < 2:
            raise ShapeError(f"needs a bottom with channels, which has 2 axes or more, not {list(bottoms[0])}")
        p = layer.norm_param
        refuse(p, "fix_scale", "normalize_type", "fix_gradient", "bp_norm")
        self.across_spatial, self.eps = p.across_spatial, p.eps
        shape = () if p.channel_shared else bottoms[0][1:2]
        self.scale = new_blob(p.scale_filler, shape, value=None if p.HasField("scale_filler") else 1)

    def forward(self, x: Tensor) -> Tensor:
        axes = tuple(range(1, x.dim())) if self.across_spatial else (1,)
        scale = self.scale if self.scale.dim() == 0 else self.scale.view(-1, *(1,) * (x.dim() - 2))
        result: Tensor = _Normalize.apply(x, scale, axes, self.eps)  # type: ignore[no-untyped-call]
        return result

    def onnx(self, g: OnnxGraph, x: str) -> str:
        axes = len(g.shape(x))
        squares = reduced(g, "ReduceSumSquare", x, range(1, axes) if self.across_spatial else [1])
        unit = g.node("Div", x, g.node("Sqrt", scaled(g, squares, 1, self.eps)))
        shape = (len(self.scale), *(1,) * (axes - 2)) if self.scale.dim() else ()
        return g.node("Mul", unit, g.blob(self, "scale", shape))


class _Normalize(torch.autograd.Function):
    """Caffe's rule: the gradient of x is that of the unit vector times the scale, also where channels have their own.

    The true gradient would take the scale before the projection.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor, axes: tuple[int, ...], eps: float) -> Tensor:
        norm = (x.square().sum(axes, keepdim=True) + eps).sqrt()
        ctx.save_for_backward(x, scale, norm)
        ctx.axes = axes
        return x / norm * scale

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        x, scale, norm = ctx.saved_tensors
        unit, gradient = x / norm, gradients[0]
        along = unit * (unit * gradient).sum(ctx.axes, keepdim=True)
        return (gradient - along) / norm * scale, (unit * gradient).sum_to_size(scale.shape), None, None
