"""BN: batch normalization with scale and shift, as in SegNet, PSPNet and happynear's Caffe."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape, new_blob
from netdsl.layer.blobs import new_statistics
from netdsl.layer.onnx_form import reduced, reshaped
from netdsl.layers._settings import refuse

_OF_PSPNET = ("slope_filler", "bias_filler", "momentum", "frozen")
_OF_SEGNET = ("scale_filler", "shift_filler", "var_eps", "decay", "moving_average")
_EPS_OF_SEGNET = 1e-9


class _BNRule(Enum):
    """The fork whose BN a layer is."""

    SEGNET = auto()
    PSPNET = auto()
    HAPPYNEAR = auto()
    HAPPYNEAR_FIRST = auto()  # of the older branch master


_BY_DIALECT = {
    "segnet": _BNRule.SEGNET,
    "deconvnet": _BNRule.SEGNET,
    "synopsys": _BNRule.SEGNET,
    "happynear": _BNRule.HAPPYNEAR,
    "happynear-ms": _BNRule.HAPPYNEAR,
}
_DOUBT_OF_PSPNET = (
    "BN is assumed to be PSPNet's and TSN's; happynear's averages inverse deviations in its fourth blob, and "
    "SegNet's and Synopsys' has no averages"
)
_DOUBT_OF_SEGNET = "BN is assumed to be SegNet's, which has no averages; happynear's has them"


class BN(HasOnnxForm):
    """Computes slope * (x - mean) / sqrt(variance + eps) + bias for each channel.

    Several forks have a type of this name. SegNet's has two blobs, slope and bias. It uses the batch's mean and
    variance in both phases, or none with `bn_mode: INFERENCE`. PSPNet's also has running averages as two more blobs and
    uses them in TEST and when frozen. So does happynear's, but its fourth blob averages 1 / sqrt(variance + eps). Its
    first version averaged variances and added eps only in training.

    A layer with a `scale_filler`, a `shift_filler`, a `bn_mode` or more than one top (the batch's mean and variance) is
    SegNet's or happynear's first version. Other layers are PSPNet's or happynear's. The net's dialect decides between
    the two. Synopsys has SegNet's, and PSPNet's if `icnet` is set.
    """

    config = pb.BNParameter
    blobs = ("slope", "bias", "mean", "variance")
    tops = (1, 3)
    in_place = True
    mean: Tensor
    variance: Tensor

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.bn_param
        if not 2 <= len(bottoms[0]) <= 4:
            raise ShapeError(f"the bottom must have 2 to 4 axes, not {len(bottoms[0])}; change it with a Reshape layer")
        self.rule = self._rule(p)
        first = self.rule is _BNRule.HAPPYNEAR_FIRST
        refuse(p, "across_spatial", *(() if first else ("moving_average",)))
        if first and not p.moving_average and p.HasField("moving_average"):
            raise NetError(
                "moving_average: false isn't supported because TEST would normalize differently from training; "
                "remove moving_average"
            )
        shape = (1, bottoms[0][1], 1, 1)
        self.runs = self.rule is not _BNRule.SEGNET
        self.plain = p.bn_mode == pb.BNParameter.INFERENCE
        self.count = len(layer.top)
        if self.plain and len(layer.top) > 1:
            raise NetError("bn_mode: INFERENCE computes no mean and variance; remove the tops after the first")
        of_pspnet = self.rule in (_BNRule.PSPNET, _BNRule.HAPPYNEAR)
        self.frozen, self.momentum = of_pspnet and p.frozen, p.momentum if of_pspnet else p.decay
        self.eps = p.eps if of_pspnet else p.var_eps if first or p.HasField("var_eps") else _EPS_OF_SEGNET
        self.slope = new_blob(p.slope_filler if of_pspnet else p.scale_filler, shape)
        self.bias = new_blob(p.bias_filler if of_pspnet else p.shift_filler, shape)
        self._keep_averages(shape)

    def _rule(self, p: pb.BNParameter) -> _BNRule:
        if p.icnet:
            return _BNRule.PSPNET
        if len(self.layer.top) > 1 or p.HasField("bn_mode"):
            return _BNRule.SEGNET
        if any(p.HasField(name) for name in _OF_SEGNET):
            return self.by_dialect({"happynear": _BNRule.HAPPYNEAR_FIRST}, _BNRule.SEGNET, _DOUBT_OF_SEGNET)
        rules = dict(_BY_DIALECT)
        if len(self.layer.dialects) > 1 and any(p.HasField(name) for name in _OF_PSPNET):
            del rules["synopsys"]  # a Synopsys net with these settings would also set icnet
        return self.by_dialect(rules, _BNRule.PSPNET, _DOUBT_OF_PSPNET)

    def _keep_averages(self, shape: Shape) -> None:
        if not self.runs:
            self.register_buffer("mean", None)
            self.register_buffer("variance", None)
            return
        variance = new_statistics(shape)
        if self.frozen or self.rule is not _BNRule.PSPNET:
            variance.filler = pb.FillerParameter(value=1)  # type: ignore[attr-defined]
        if self.frozen:
            self.slope.requires_grad_(False)
            self.bias.requires_grad_(False)
        self.register_buffer("mean", new_statistics(shape))
        self.register_buffer("variance", variance)

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        per_channel = (1, bottoms[0][1], 1, 1)
        return [bottoms[0], per_channel, per_channel][: len(self.layer.top)]

    def freeze(self, message: pb.LayerParameter) -> None:
        super().freeze(message)
        message.bn_param.frozen = True

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, ...]:
        if self.plain:
            return torch.addcmul(self._wide(self.bias, x), x, self._wide(self.slope, x))
        averaged = self.runs and (self.frozen or not self.training)
        mean, variance = (self.mean, self.variance) if averaged else self._of_batch(x)
        inverse = variance if averaged and self._keeps_inverses else (variance + self._eps(averaged)).rsqrt()
        if self.runs and not averaged:
            self._average(mean, inverse if self._keeps_inverses else variance)
        scale = self.slope * inverse
        top = torch.addcmul(self._wide(self.bias, x), x - self._wide(mean, x), self._wide(scale, x))
        return (top, mean.detach(), variance.detach())[: self.count] if self.count > 1 else top

    def onnx(self, g: OnnxGraph, x: str) -> str | tuple[str, ...]:
        axes = len(g.shape(x))
        wide = (self.slope.numel(), *(1,) * (axes - 2))
        slope, bias = g.blob(self, "slope", wide), g.blob(self, "bias", wide)
        if self.plain:
            return g.node("Add", g.node("Mul", x, slope), bias)
        if self._keeps_inverses:
            mean, inverse = g.blob(self, "mean", wide), g.blob(self, "variance", wide)
            normalized = g.node("Mul", g.node("Sub", x, mean), inverse)
            return g.node("Add", g.node("Mul", normalized, slope), bias)
        if self.runs:
            blobs = [g.blob(self, name, wide[:1]) for name in self.blobs]
            return g.node("BatchNormalization", x, *blobs, epsilon=self._eps(averaged=True))
        others = [axis for axis in range(axes) if axis != 1]
        mean = reduced(g, "ReduceMean", x, others)
        centered = g.node("Sub", x, mean)
        variance = reduced(g, "ReduceMean", g.node("Mul", centered, centered), others)
        inverse = g.node("Reciprocal", g.node("Sqrt", g.node("Add", variance, g.constant(self.eps))))
        top = g.node("Add", g.node("Mul", centered, g.node("Mul", slope, inverse)), bias)
        per_channel = 1, self.slope.numel(), 1, 1
        return (top, reshaped(g, mean, *per_channel), reshaped(g, variance, *per_channel)) if self.count > 1 else top

    def _of_batch(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the batch's mean and variance."""
        dims = [axis for axis in range(x.dim()) if axis != 1]
        variance, mean = torch.var_mean(x, dims, correction=0)
        return mean.view(self.slope.shape), variance.view(self.slope.shape)

    @property
    def _keeps_inverses(self) -> bool:
        return self.rule is _BNRule.HAPPYNEAR

    def _eps(self, averaged: bool) -> float:
        return 0.0 if averaged and self.rule is _BNRule.HAPPYNEAR_FIRST else self.eps

    @torch.no_grad()
    def _average(self, mean: Tensor, spread: Tensor) -> None:
        """Update the running averages with the batch's statistics."""
        self.mean.lerp_(mean, 1 - self.momentum)
        self.variance.lerp_(spread, 1 - self.momentum)

    def _wide(self, blob: Tensor, x: Tensor) -> Tensor:
        return blob.view(1, -1, *[1] * (x.dim() - 2))
