"""Normalize: vectors scaled to a fixed length."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from typing import Any

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape, new_blob
from netdsl.layer.onnx_form import reduced, reshaped, scaled
from netdsl.layer.running import Reads, ReadsInBackward, in_single
from netdsl.layer.tops import Meaning, ShowsMeaning
from netdsl.layers._settings import refuse


class _NormRule(Enum):
    """The fork whose Normalize a layer is."""

    SSD = auto()
    HAPPYNEAR = auto()
    TSN = auto()


_BY_DIALECT = {"happynear": _NormRule.HAPPYNEAR, "happynear-ms": _NormRule.HAPPYNEAR, "tsn": _NormRule.TSN}
_DOUBT = (
    "Normalize is assumed to be SSD's, which normalizes whole items and learns a scale; happynear's normalizes "
    "each position and learns none"
)
_EPS_OF_HAPPYNEAR = 1e-6


class Normalize(HasOnnxForm, ReadsInBackward, ShowsMeaning):
    """Computes scale * x / sqrt(sum of x² + eps).

    The sum is over channels, or over the whole item with `across_spatial`. With Synopsys' `add_eps_before_sqrt: false`,
    eps is added after the square root for whole items.

    happynear's version has its settings in `normalize_param` and no scale. It sums over channels, and with type L1 it
    sums absolute values. Its second top is the divisor, whose gradient passes only with `bp_norm`. TSN's version has no
    settings and divides items by their length. The net's dialect decides about a layer without settings. The top of
    these two versions has four axes.
    """

    meaning = Meaning.EMBEDDING
    config = pb.NormalizeParameter
    blobs = ("scale",)
    tops = (1, 2)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        if len(bottoms[0]) < 2:
            raise ShapeError(
                f"the bottom must have channels, so 2 axes or more, not shape {list(bottoms[0])}; add the axis "
                "with a Reshape layer"
            )
        self.rule = self._rule()
        p = layer.normalize_param if self.rule is _NormRule.HAPPYNEAR else layer.norm_param
        self.shows_norm = len(layer.top) > 1
        if self.shows_norm and self.rule is not _NormRule.HAPPYNEAR:
            raise NetError(
                "only happynear's Normalize has a second top, the divisor; add a normalize_param or remove the top"
            )
        self.scale = None
        if self.rule is _NormRule.SSD:
            refuse(p, "fix_scale", "normalize_type", "fix_gradient", "bp_norm")
            shape = () if p.channel_shared else bottoms[0][1:2]
            self.scale = new_blob(p.scale_filler, shape, value=None if p.HasField("scale_filler") else 1)
        else:
            refuse(p, "fix_gradient")
        if self.scale is None and len(bottoms[0]) > 4:
            raise ShapeError(f"the bottom {list(bottoms[0])} has more than four axes; join some with a Reshape layer")
        if p.normalize_type not in ("L1", "L2"):
            raise NetError(f"normalize_type is '{p.normalize_type}'; set it to L1 or L2")
        self.absolute, self.passes_norm = p.normalize_type == "L1", p.bp_norm and self.shows_norm
        self.across_spatial = self.rule is not _NormRule.HAPPYNEAR and p.across_spatial
        eps = {_NormRule.SSD: p.eps, _NormRule.HAPPYNEAR: _EPS_OF_HAPPYNEAR, _NormRule.TSN: 0.0}[self.rule]
        after_root = self.across_spatial and not p.add_eps_before_sqrt
        self.eps, self.eps_after_root = (0.0, eps) if after_root else (eps, 0.0)

    def _rule(self) -> _NormRule:
        settings = {name for name in ("norm_param", "normalize_param") if self.layer.HasField(name)}
        if len(settings) == 2:
            raise NetError("norm_param, of SSD, and normalize_param, of happynear, are both set; remove one of them")
        if settings:
            return _NormRule.SSD if "norm_param" in settings else _NormRule.HAPPYNEAR
        return self.by_dialect(_BY_DIALECT, _NormRule.SSD, _DOUBT)

    @in_single
    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        if self.scale is None:
            return self._without_scale(x)
        scale, axes = self._wide_scale(x), self._axes(x)
        result: Tensor = _Normalize.apply(x, scale, axes, self.eps, self.eps_after_root)  # type: ignore[no-untyped-call]
        return result

    def reads_bottoms(self) -> Reads:
        return Reads.NOTHING if self.scale is None and not self.absolute else Reads.VALUES

    def reads_tops(self) -> Reads:
        return Reads.VALUES if self.scale is None or self.scale.requires_grad else Reads.NOTHING

    def caffe_gradients(
        self, seen: Sequence[Tensor], bottoms: Sequence[Tensor], tops: Sequence[Tensor], gradients: Sequence[Tensor]
    ) -> Sequence[Tensor | None]:
        x, bottom, top, gradient = seen[0], bottoms[0], tops[0], gradients[0]
        if self.scale is None:
            wide = x.reshape(*x.shape, *(1,) * (4 - x.dim()))
            norm, unit = self._norm(wide), bottom.reshape(wide.shape).sign() if self.absolute else top
            found = (gradient - unit * (top * gradient).sum(self._axes(x), keepdim=True)) / norm
            return [(found + gradients[1] * unit if self.passes_norm else found).reshape(x.shape)]
        scale, axes = self._wide_scale(x), self._axes(x)
        norm = (x.square().sum(axes, keepdim=True) + self.eps).sqrt() + self.eps_after_root
        along = bottom * (bottom * gradient).sum(axes, keepdim=True) / norm.square()
        of_scale = (top * gradient / scale).sum_to_size(scale.shape).reshape(self.scale.shape)
        return [(gradient - along) / norm * scale, of_scale]

    def _axes(self, x: Tensor) -> tuple[int, ...]:
        """Return the axes of the vectors."""
        return tuple(range(1, x.dim())) if self.across_spatial else (1,)

    def _wide_scale(self, x: Tensor) -> Tensor:
        assert self.scale is not None
        return self.scale if self.scale.dim() == 0 else self.scale.view(-1, *(1,) * (x.dim() - 2))

    def _norm(self, x: Tensor) -> Tensor:
        """Return the divisor of a bottom with four axes, for a layer without a scale."""
        sums = (x.abs() if self.absolute else x.square()).sum(self._axes(x), keepdim=True) + self.eps
        return sums if self.absolute else sums.sqrt()

    def _without_scale(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        x = x.reshape(*x.shape, *(1,) * (4 - x.dim()))
        norm = self._norm(x)
        return (x / norm, norm if self.passes_norm else norm.detach()) if self.shows_norm else x / norm

    def onnx(self, g: OnnxGraph, x: str) -> str | tuple[str, str]:
        axes = len(g.shape(x))
        if self.scale is None and axes < 4:
            x, axes = reshaped(g, x, *[0] * axes, *[1] * (4 - axes)), 4
        op = "ReduceL1" if self.absolute else "ReduceSumSquare"
        sums = scaled(g, reduced(g, op, x, range(1, axes) if self.across_spatial else [1]), 1, self.eps)
        norm = sums if self.absolute else scaled(g, g.node("Sqrt", sums), 1, self.eps_after_root)
        unit = g.node("Div", x, norm)
        if self.scale is None:
            return (unit, norm) if self.shows_norm else unit
        shape = (len(self.scale), *(1,) * (axes - 2)) if self.scale.dim() else ()
        return g.node("Mul", unit, g.blob(self, "scale", shape))


class _Normalize(torch.autograd.Function):
    """Computes the scaled unit vectors. Caffe's rule: the gradient is that of the unit vector, times the scale.

    The true gradient would multiply by per-channel scales before the projection.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor, axes: tuple[int, ...], eps: float, after_root: float) -> Tensor:
        norm = (x.square().sum(axes, keepdim=True) + eps).sqrt() + after_root
        ctx.save_for_backward(x, scale, norm)
        ctx.axes = axes
        return x / norm * scale

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        x, scale, norm = ctx.saved_tensors
        unit, gradient = x / norm, gradients[0]
        along = unit * (unit * gradient).sum(ctx.axes, keepdim=True)
        return (gradient - along) / norm * scale, (unit * gradient).sum_to_size(scale.shape), None, None, None
