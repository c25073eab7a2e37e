"""MVN: items normalized to mean 0 and variance 1."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import reduced, reshaped, scaled
from netdsl.layer.running import Reads, ReadsInBackward, in_single


class MVN(HasOnnxForm, ReadsInBackward):
    """Computes (x - mean) / (deviation + eps) over each channel, or over each item with `across_channels`.

    The top has four axes. With Synopsys' `add_eps_before_sqrt`, the divisor is sqrt(variance + eps).
    """

    config = pb.MVNParameter
    in_place = True

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.mvn_param
        if len(bottoms[0]) > 4:
            raise ShapeError(f"the bottom {list(bottoms[0])} has more than four axes; join some with a Reshape layer")
        self.axes = (1, 2, 3) if p.across_channels else (2, 3)
        self.normalize_variance = p.normalize_variance
        self.eps_before_root, self.eps_after_root = (p.eps, 0.0) if p.add_eps_before_sqrt else (0.0, p.eps)

    @in_single
    def forward(self, x: Tensor) -> Tensor:
        x = x.reshape(*x.shape, *(1,) * (4 - x.dim()))
        if not self.normalize_variance:
            return x - x.mean(self.axes, keepdim=True)
        variance, mean = torch.var_mean(x, self.axes, correction=0, keepdim=True)
        # Caffe's rule: the gradient is computed as if the variance had included eps.
        divisor = (variance.detach() + self.eps_before_root).sqrt() + self.eps_after_root
        squared = variance + (divisor.square() - variance).detach()
        return (x - mean) / squared.sqrt()

    def reads_tops(self) -> Reads:
        return Reads.VALUES if self.normalize_variance else Reads.NOTHING

    def loses_gradient(self) -> bool:
        return self.normalize_variance

    def caffe_gradients(
        self, seen: Sequence[Tensor], bottoms: Sequence[Tensor], tops: Sequence[Tensor], gradients: Sequence[Tensor]
    ) -> Sequence[Tensor | None]:
        top, gradient = tops[0], gradients[0]
        variance = torch.var(seen[0].reshape(top.shape), self.axes, correction=0, keepdim=True)
        part = top * (top * gradient).sum(self.axes, keepdim=True)
        if self.is_in_place():  # the sum is stored in the gradient's own memory
            gradient = part = part + part.sum(self.axes, keepdim=True)
        else:
            part = part + gradient.sum(self.axes, keepdim=True)
        size = top.numel() // variance.numel()
        found = (gradient - part / size) / ((variance + self.eps_before_root).sqrt() + self.eps_after_root)
        return [found.reshape(seen[0].shape)]

    def onnx(self, g: OnnxGraph, x: str) -> str:
        axes = len(g.shape(x))
        x = reshaped(g, x, *[0] * axes, *[1] * (4 - axes)) if axes < 4 else x
        centered = g.node("Sub", x, reduced(g, "ReduceMean", x, self.axes))
        if not self.normalize_variance:
            return centered
        variance = reduced(g, "ReduceMean", g.node("Mul", centered, centered), self.axes)
        deviation = g.node("Sqrt", scaled(g, variance, 1, self.eps_before_root))
        return g.node("Div", centered, scaled(g, deviation, 1, self.eps_after_root))
