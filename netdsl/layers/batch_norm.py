"""BatchNorm: channels normalized to mean 0 and variance 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ConversionError, ShapeError
from netdsl.layer import Layer, OnnxGraph, Shape, new_blob
from netdsl.layer.blobs import new_statistics
from netdsl.layer.deploying import ChannelAffine
from netdsl.layer.onnx_form import reduced, reshaped
from netdsl.layer.running import OF_TWO_BYTES, MakesNewMemory, MergesWithNext, OverwritesBottom, can_be_read, on_cpu
from netdsl.layers._elementwise import Elementwise
from netdsl.layers._settings import refuse
from netdsl.layers.scale import Scale

_INTEL = (pb.BatchNormParameter.MKL2017, pb.BatchNormParameter.MKLDNN)


class BatchNorm(Elementwise, ChannelAffine, MergesWithNext, MakesNewMemory, OverwritesBottom):
    """Computes (x - mean) / sqrt(variance + eps) for each channel.

    The mean and the variance are the batch's in training, and running averages in TEST. The blobs are sums of means, of
    variances and of weights. An average is a sum divided by the sum of the weights. In NVCaffe and with Intel's
    engines, the layer can also have a scale and a bias.
    """

    config = pb.BatchNormParameter
    blobs = ("mean", "variance", "factor", "weight", "bias")
    fillers_make_blobs = True

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p, shape = layer.batch_norm_param, bottoms[0]
        _refuse_forks(p, layer.phase)
        if not shape:
            raise ShapeError(
                "the bottom is a scalar, but the layer needs at least one axis; change it with a Reshape layer"
            )
        if len(shape) == 1:
            self.caffe_notes.append("Caffe refuses a bottom with a single axis; add a second axis with a Reshape layer")
        channels = shape[1:2] or (1,)
        (self.channels,) = channels
        self.fraction, self.batch = p.moving_average_fraction, p.stats_batch_size
        self.eps, self.eps_after_root = (p.eps, 0.0) if p.add_eps_before_sqrt else (0.0, p.eps)
        self.use_global_stats = p.use_global_stats if p.HasField("use_global_stats") else None
        self.register_buffer("mean", new_statistics(channels))
        self.register_buffer("variance", new_statistics(channels))
        self.register_buffer("factor", new_statistics((1,)))
        nvidia = p.scale_bias or p.HasField("scale_filler") or p.HasField("bias_filler")
        intel = p.engine in _INTEL and p.use_weight_bias
        filler = p.scale_filler if p.HasField("scale_filler") else p.filler
        self.weight = new_blob(filler, channels, value=1.0) if nvidia or intel else None
        self.bias = new_blob(p.bias_filler, channels) if nvidia or (intel and p.bias_term) else None

    def freeze(self, message: pb.LayerParameter) -> None:
        """Freeze the layer with `use_global_stats`, because its sums would change even at a learning rate of 0."""
        super().freeze(message)
        self.fix_statistics(message)

    def fix_statistics(self, message: pb.LayerParameter) -> bool:
        message.batch_norm_param.use_global_stats = True
        return True

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        self._check_channels(bottoms[0])
        size = bottoms[0][0]
        if self.batch and size % self.batch:
            raise ShapeError(
                f"stats_batch_size {self.batch} doesn't divide the batch size {size}; set one that divides it, or "
                "leave it out"
            )
        return super().top_shapes(bottoms)

    def forward(self, x: Tensor) -> Tensor:
        return self._normalized(x, self.weight, self.bias)

    def onnx(self, g: OnnxGraph, x: str) -> str:
        shape = g.shape(x)
        columns = x if len(shape) > 1 else reshaped(g, x, 0, 1)
        if self.use_global_stats is False:
            top = self._by_batch_statistics_onnx(g, columns, max(len(shape), 2))
        else:
            weight, bias = (None if blob is None else g.blob(self, name)
                            for blob, name in ((self.weight, "weight"), (self.bias, "bias")))  # fmt: skip
            mean, variance = (each.numpy() for each in self._averages())
            weight = weight or g.constant(np.ones_like(mean))
            bias = bias or g.constant(np.zeros_like(mean))
            inputs = columns, weight, bias, g.constant(mean), g.constant(variance)
            top = g.node("BatchNormalization", *inputs, epsilon=self.eps)
        return top if len(shape) > 1 else reshaped(g, top, 0)

    def _by_batch_statistics_onnx(self, g: OnnxGraph, x: str, axes: int) -> str:
        """Write the normalization by the batch's own statistics in ONNX operators."""
        if self.batch:
            raise ConversionError("can't be exported with statistics over parts of a batch; remove stats_batch_size")
        others = [axis for axis in range(axes) if axis != 1]
        centered = g.node("Sub", x, reduced(g, "ReduceMean", x, others))
        variance = reduced(g, "ReduceMean", g.node("Mul", centered, centered), others)
        deviation = g.node("Sqrt", g.node("Add", variance, g.constant(self.eps)))
        deviation = g.node("Add", deviation, g.constant(self.eps_after_root)) if self.eps_after_root else deviation
        top = g.node("Div", centered, deviation)
        for op, name in (("Mul", "weight"), ("Add", "bias")):
            blob = getattr(self, name)
            top = top if blob is None else g.node(op, top, g.blob(self, name, (len(blob), *(1,) * (axes - 2))))
        return top

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Keep the blobs in float32 even in a net of half precision.

        Sums over a thousand batches would exceed float16.
        """
        super()._apply(lambda tensor: _at_least_single(tensor, fn(tensor)), recurse)  # type: ignore[no-untyped-call]
        return self

    def merges_with(self, following: Layer) -> bool:
        """Return whether the following layer is a Scale per channel, which torch's batch normalization can include."""
        return self.weight is None and isinstance(following, Scale) and following.is_per_channel()

    def forward_merged(self, following: Layer, *bottoms: Tensor) -> Tensor:
        assert isinstance(following, Scale)
        return self._normalized(bottoms[0], following.weight, following.bias)

    def channel_affine(self) -> tuple[Tensor, Tensor] | None:
        if self.use_global_stats is False:
            return None
        return self._affine(self.weight, self.bias)

    def _check_channels(self, bottom: Shape) -> None:
        found = bottom[1] if len(bottom) > 1 else 1
        if found != self.channels:
            raise ShapeError(
                f"the blobs are for {self.channels} channels, but the bottom {list(bottom)} has {found}; use "
                "weights of this net, or correct the net's channels"
            )

    def _affine(self, weight: Tensor | None, bias: Tensor | None) -> tuple[Tensor, Tensor]:
        mean, variance = self._averages()
        inverse = (variance + self.eps).rsqrt()
        factor = inverse if weight is None else inverse * weight
        return factor, -mean * factor if bias is None else bias - mean * factor

    def _normalized(self, x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
        self._check_channels(x.shape)
        if x.dtype != self.mean.dtype:  # torch accepts a half-precision bottom only if all blobs are float32
            weight, bias = (None if blob is None else blob.to(self.mean.dtype) for blob in (weight, bias))
        columns = x if x.dim() > 1 else x[:, None]
        if not self.training if self.use_global_stats is None else self.use_global_stats:
            top = self._by_running_averages(columns, weight, bias)
        elif self.batch:
            top = torch.cat(
                [self._by_batch_statistics(part, weight, bias) for part in torch.split(columns, self.batch)]
            )
        else:
            top = self._by_batch_statistics(columns, weight, bias)
        return top if x.dim() > 1 else top[:, 0]

    def _by_running_averages(self, x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
        """Return x normalized by the running averages.

        If channels are last and nothing is learned, one multiplication and addition takes a CPU 0.4 to 0.9 times as
        long as torch's own function. Overwriting x is the fastest case.
        """
        plain = torch.is_grad_enabled() or torch.compiler.is_compiling() or not on_cpu(x) or x.dtype != self.mean.dtype
        if plain or x.is_contiguous() or not x.is_contiguous(memory_format=torch.channels_last):
            return F.batch_norm(x, *self._averages(), weight, bias, eps=self.eps)
        factor, shift = (each[:, None, None] for each in self._affine(weight, bias))
        return torch.addcmul(shift, x, factor, out=x if self.overwritten() else None)

    def _averages(self) -> tuple[Tensor, Tensor]:
        """Return the running averages. Caffe's rule: if the sum of the weights is 0, both are 0.

        If eps is added after the square root, it is included in the variance.
        """
        mean, variance = self.mean, self.variance
        if not can_be_read(self.factor) or self.factor.item() != 1:  # other tools write averages with a factor of 1
            inverse = self.factor.reciprocal().nan_to_num_(torch.nan, 0.0)
            mean, variance = mean * inverse, variance * inverse
        return mean, (variance.sqrt() + self.eps_after_root).square() if self.eps_after_root else variance

    def _by_batch_statistics(self, x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
        """Return x normalized by the batch's own statistics, and add them to the sums."""
        if self.eps_after_root:
            return self._normalized_with_eps_after_root(x, weight, bias)
        mean, variance = torch.zeros_like(self.mean), torch.zeros_like(self.variance)
        if x.numel() == mean.numel():  # a single value equals its mean, so that the difference is zero
            top = F.batch_norm(x - x, mean, variance, weight, bias, eps=self.eps)
            self._add(x.detach().flatten(), variance)
        else:
            # With a momentum of 1, torch writes x's mean and the variance with the divisor m - 1, which Caffe adds to
            # its sums.
            top = F.batch_norm(x, mean, variance, weight, bias, True, 1.0, self.eps)
            self._add(mean, variance)
        return top

    def _normalized_with_eps_after_root(self, x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
        """Return x normalized by the batch's statistics, with eps added to the deviation.

        Caffe's rule: the backward pass treats that eps as a constant that was added to the variance.
        """
        values, channels = x.to(self.mean.dtype), (-1, *(1,) * (x.dim() - 2))
        others = [axis for axis in range(x.dim()) if axis != 1]
        mean = values.mean(others, keepdim=True)
        variance = (values - mean).square().mean(others, keepdim=True)
        known = variance.detach()
        top = (values - mean) / (variance + ((known.sqrt() + self.eps_after_root).square() - known)).sqrt()
        count = x.numel() // known.numel()
        self._add(mean.detach().flatten(), known.flatten() * (count / max(1, count - 1)))
        top = top if weight is None else top * weight.view(channels)
        return (top if bias is None else top + bias.view(channels)).to(x.dtype)

    @torch.no_grad()
    def _add(self, mean: Tensor, variance: Tensor) -> None:
        for blob, new in ((self.mean, mean), (self.variance, variance)):
            torch.add(new, blob, alpha=self.fraction, out=blob)
        self.factor.mul_(self.fraction).add_(1)


def _at_least_single(before: Tensor, after: Tensor) -> Tensor:
    return before.to(after.device) if after.dtype in OF_TWO_BYTES else after


def _refuse_forks(p: pb.BatchNormParameter, phase: int) -> None:
    refuse(p, "disable_mean", "disable_variance", "relu", "fused_relu")
    if p.use_global_stats and phase == pb.TRAIN:
        refuse(p, "update_global_stats")
