"""LRN: local response normalisation, as AlexNet has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import Layer, Shape


class LRN(Layer):
    """x / (k + alpha * mean of x**2)**beta, the mean over neighbouring channels or, with k = 1, over a window."""

    config = pb.LRNParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.lrn_param
        if len(bottoms[0]) != 4:
            raise ShapeError(f"the bottom must have 4 axes (num, channels, height, width), not {len(bottoms[0])}")
        if p.local_size % 2 == 0:
            raise NetError(f"local_size must be odd, not {p.local_size}")
        self.size, self.alpha, self.beta, self.k = p.local_size, p.alpha, p.beta, p.k
        self.within = p.norm_region == pb.LRNParameter.WITHIN_CHANNEL

    def forward(self, x: Tensor) -> Tensor:
        if self.within:
            mean = F.avg_pool2d(x * x, self.size, 1, self.size // 2)
            return x * _power(1 + self.alpha * mean, self.beta)
        y: Tensor = _AcrossChannels.apply(  # type: ignore[no-untyped-call]
            x, self.size // 2, self.alpha / self.size, self.beta, self.k
        )
        return y


class _AcrossChannels(torch.autograd.Function):
    """The sums are few passes over memory, forward and backward, where autograd would keep each of them."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, reach: int, alpha: float, beta: float, k: float) -> Tensor:
        scale = _spread(x, x, reach, alpha, torch.addcmul(x.new_full((), k), x, x, value=alpha))
        ctx.save_for_backward(x, scale)
        ctx.reach, ctx.alpha, ctx.beta = reach, alpha, beta
        return _power(scale, beta).mul_(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None, None]:
        x, scale = ctx.saved_tensors
        direct = _power(scale, ctx.beta).mul_(gradient)
        ratio = x / scale
        shared = _spread(direct, ratio, ctx.reach, 1, direct * ratio)
        return direct.addcmul_(x, shared, value=-2 * ctx.alpha * ctx.beta), None, None, None, None


def _spread(first: Tensor, second: Tensor, reach: int, factor: float, total: Tensor) -> Tensor:
    """Add to every channel the products of its neighbours, in place."""
    for step in range(1, reach + 1):
        total[:, step:].addcmul_(first[:, :-step], second[:, :-step], value=factor)
        total[:, :-step].addcmul_(first[:, step:], second[:, step:], value=factor)
    return total


def _power(scale: Tensor, beta: float) -> Tensor:
    """scale**-beta; roots are many times faster than powers."""
    if beta == 0.75:
        root = scale.rsqrt()
        return root.sqrt() * root
    return scale.pow(-beta)
