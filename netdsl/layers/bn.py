"""BN: batch normalisation with its scale and shift in one layer, as SegNet and as PSPNet have it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape, new_blob
from netdsl.layer.blobs import new_statistics
from netdsl.layer.onnx_form import reduced, reshaped
from netdsl.layers._forks import refuse

_OF_SEGNET = ("scale_filler", "shift_filler", "bn_mode")
_EPS_OF_SEGNET = 1e-9


class BN(HasOnnxForm):
    """slope * (x - mean) / sqrt(variance + eps) + bias, for every channel.

    Two forks have a type of this name. SegNet's has two blobs, slope and bias; mean and variance are the batch's in
    both phases, or with `bn_mode: INFERENCE` are left out. PSPNet's has running averages as two blobs more, which it
    uses in TEST and when frozen. A layer is SegNet's if it has a `scale_filler`, a `shift_filler`, a `bn_mode` or more
    than one top (the batch's mean and variance), and PSPNet's otherwise, or if Synopsys' `icnet` says so.
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
            raise ShapeError(f"needs a bottom of 2 to 4 axes, not {len(bottoms[0])}")
        refuse(p, "moving_average", "across_spatial")
        shape = (1, bottoms[0][1], 1, 1)
        self.runs = p.icnet or (not any(p.HasField(name) for name in _OF_SEGNET) and len(layer.top) == 1)
        self.plain = p.bn_mode == pb.BNParameter.INFERENCE
        self.count = len(layer.top)
        if self.plain and len(layer.top) > 1:
            raise NetError("bn_mode: INFERENCE has no mean and variance to give as tops")
        self.frozen, self.momentum = p.frozen, p.momentum
        self.eps = p.eps if self.runs else p.var_eps if p.HasField("var_eps") else _EPS_OF_SEGNET
        self.slope = new_blob(p.slope_filler if self.runs else p.scale_filler, shape)
        self.bias = new_blob(p.bias_filler if self.runs else p.shift_filler, shape)
        self._keep_averages(shape)

    def _keep_averages(self, shape: Shape) -> None:
        if not self.runs:
            self.register_buffer("mean", None)
            self.register_buffer("variance", None)
            return
        variance = new_statistics(shape)
        if self.frozen:
            variance.filler = pb.FillerParameter(value=1)  # type: ignore[attr-defined]
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
        scale = self.slope * (variance + self.eps).rsqrt()
        top = torch.addcmul(self._wide(self.bias, x), x - self._wide(mean, x), self._wide(scale, x))
        return (top, mean.detach(), variance.detach())[: self.count] if self.count > 1 else top

    def onnx(self, g: OnnxGraph, x: str) -> str | tuple[str, ...]:
        axes = len(g.shape(x))
        wide = (self.slope.numel(), *(1,) * (axes - 2))
        slope, bias = g.blob(self, "slope", wide), g.blob(self, "bias", wide)
        if self.plain:
            return g.node("Add", g.node("Mul", x, slope), bias)
        if self.runs:
            blobs = [g.blob(self, name, wide[:1]) for name in self.blobs]
            return g.node("BatchNormalization", x, *blobs, epsilon=self.eps)
        others = [axis for axis in range(axes) if axis != 1]
        mean = reduced(g, "ReduceMean", x, others)
        centred = g.node("Sub", x, mean)
        variance = reduced(g, "ReduceMean", g.node("Mul", centred, centred), others)
        inverse = g.node("Reciprocal", g.node("Sqrt", g.node("Add", variance, g.constant(self.eps))))
        top = g.node("Add", g.node("Mul", centred, g.node("Mul", slope, inverse)), bias)
        per_channel = 1, self.slope.numel(), 1, 1
        return (top, reshaped(g, mean, *per_channel), reshaped(g, variance, *per_channel)) if self.count > 1 else top

    def _of_batch(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The batch's mean and variance, which running averages take in."""
        dims = [axis for axis in range(x.dim()) if axis != 1]
        statistics = torch.var_mean(x, dims, correction=0)
        variance, mean = (each.view(self.slope.shape) for each in statistics)
        if self.runs:
            with torch.no_grad():
                self.mean.lerp_(mean, 1 - self.momentum)
                self.variance.lerp_(variance, 1 - self.momentum)
        return mean, variance

    def _wide(self, blob: Tensor, x: Tensor) -> Tensor:
        return blob.view(1, -1, *[1] * (x.dim() - 2))
