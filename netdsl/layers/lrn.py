"""LRN: local response normalization, as in AlexNet."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import scaled
from netdsl.layer.running import MakesNewMemory, Reads, ReadsInBackward, in_pieces, in_single, on_cpu
from netdsl.layers._pooling import average_pool_onnx, sizes_of
from netdsl.layers._settings import refuse
from netdsl.layers._window import Window

_CACHED = 2**18  # how many values of each of three tensors fit into a CPU's caches


class LRN(HasOnnxForm, MakesNewMemory, ReadsInBackward):
    """Computes x / (k + alpha * mean of x**2)**beta. The mean is over adjacent channels or, with k = 1, over a
    window."""

    config = pb.LRNParameter
    in_place = True
    any_layout = True
    in_place_in_caffe = "Caffe loses the bottom before scaling it on a CPU and computes a different gradient on a GPU"

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.lrn_param
        refuse(p, "fuse_type")
        if len(bottoms[0]) != 4:
            raise ShapeError(
                f"the bottom must have 4 axes (num, channels, height, width), not {len(bottoms[0])}; reshape it "
                "to 4 axes with a Reshape layer"
            )
        if p.local_size % 2 == 0:
            raise NetError(f"local_size is {p.local_size}; set it to an odd number")
        self.size, self.alpha, self.beta, self.k = p.local_size, p.alpha, p.beta, p.k
        self.within = p.norm_region == pb.LRNParameter.WITHIN_CHANNEL

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        """Return the shape of the bottom."""
        return list(bottoms)

    def products(self, bottoms: Sequence[Shape], tops: Sequence[Shape]) -> int:
        """Return the number of values in all neighborhoods."""
        axes = bottoms[0][2:] if self.within else bottoms[0][1:2]
        return math.prod(min(self.size, length) for length in axes) * math.prod(tops[0])

    @in_single
    def forward(self, x: Tensor) -> Tensor:
        return self._normalized(x)

    def reads_bottoms(self) -> Reads:
        return Reads.VALUES

    def reads_tops(self) -> Reads:
        return Reads.NOTHING if self.within else Reads.PASSED

    def caffe_gradients(
        self, seen: Sequence[Tensor], bottoms: Sequence[Tensor], tops: Sequence[Tensor], gradients: Sequence[Tensor]
    ) -> Sequence[Tensor | None]:
        x, bottom, gradient = seen[0], bottoms[0], gradients[0]
        if self.within:
            return [self._within_as_caffe(x, bottom, gradient)]
        scale = self.k + self.alpha / self.size * _neighbors(x.square(), self.size)
        shared = _neighbors(gradient * tops[0] / scale, self.size)
        factor = 2 * self.alpha * self.beta / self.size
        return [gradient * _power(scale, self.beta) - factor * bottom * shared]

    def _within_as_caffe(self, x: Tensor, bottom: Tensor, gradient: Tensor) -> Tensor:
        """Return Caffe's gradient if the bottom was overwritten.

        Caffe keeps the means of squares and their powers in separate memory.
        """
        means = F.avg_pool2d(x * x, self.size, 1, self.size // 2)
        with torch.enable_grad():
            place = bottom.detach().requires_grad_()
            other = F.avg_pool2d(place * place, self.size, 1, self.size // 2)
            top = place * _power(1 + self.alpha * (other + (means - other).detach()), self.beta)
        return torch.autograd.grad(top, place, gradient)[0]

    def onnx(self, g: OnnxGraph, x: str) -> str:
        if not self.within:
            return g.node("LRN", x, size=self.size, alpha=self.alpha, beta=self.beta, bias=self.k)
        reach = (self.size // 2,) * 2
        window = Window((self.size,) * 2, (1, 1), reach, reach, (1, 1))
        mean = average_pool_onnx(g, g.node("Mul", x, x), sizes_of(g, x), window, ceil=False)
        return g.node("Mul", x, g.node("Pow", scaled(g, mean, self.alpha, 1), g.constant(-self.beta)))

    def _normalized(self, x: Tensor) -> Tensor:
        if self.within:
            return x * _power(1 + self.alpha * F.avg_pool2d(x * x, self.size, 1, self.size // 2), self.beta)
        alpha = self.alpha / self.size
        if torch.compiler.is_compiling():  # the compiler fuses these steps
            return x * _power(self.k + alpha * _neighbors(x * x, self.size), self.beta)
        top: Tensor = _AcrossChannels.apply(x, _reach(self.size, x), alpha, self.beta, self.k)  # type: ignore[no-untyped-call]
        return top


def _neighbors(x: Tensor, size: int) -> Tensor:
    """Return the sums over each channel and the channels near it."""
    reach = _reach(size, x)
    padded = F.pad(x, (0, 0, 0, 0, reach, reach))
    return reduce(torch.add, [padded.narrow(1, start, x.shape[1]) for start in range(2 * reach + 1)])


def _reach(size: int, x: Tensor) -> int:
    """Return the number of channels on each side that a neighborhood of this size can have."""
    return min(size // 2, x.shape[1] - 1)


class _AcrossChannels(torch.autograd.Function):
    """Computes LRN in a few passes, on a CPU over cached blocks. Autograd would store each step."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, reach: int, alpha: float, beta: float, k: float) -> Tensor:
        top, scale = torch.empty_like(x), torch.empty_like(x)
        for bottom, its_top, its_scale in _blocks(x, top, scale):
            squares = torch.mul(bottom, bottom, out=its_top).mul_(alpha)
            _spread(squares, reach, torch.add(squares, k, out=its_scale))
            _power(its_scale, beta, out=its_top).mul_(bottom)
        ctx.save_for_backward(x, scale)
        ctx.reach, ctx.alpha, ctx.beta = reach, alpha, beta
        return top

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None, None]:
        x, scale = ctx.saved_tensors
        result = torch.empty_like(x)
        for bottom, its_scale, its_gradient, direct in _blocks(x, scale, gradient, result):
            _power(its_scale, ctx.beta, out=direct).mul_(its_gradient)
            ratios = torch.mul(direct, bottom).div_(its_scale)
            shared = _spread(ratios, ctx.reach, ratios.clone())
            direct.addcmul_(bottom, shared, value=-2 * ctx.alpha * ctx.beta)
        return result, None, None, None, None


def _blocks(*tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Return all items together, or on a CPU as many at a time as fit into its caches."""
    first = tensors[0]
    if not on_cpu(first) or not first.numel():
        return iter([tensors])
    return in_pieces(max(1, _CACHED // first[0].numel()), *tensors)


def _spread(values: Tensor, reach: int, total: Tensor) -> Tensor:
    """Add the adjacent channels to each channel in place."""
    for step in range(1, reach + 1):
        total[:, step:].add_(values[:, :-step])
        total[:, :-step].add_(values[:, step:])
    return total


def _power(scale: Tensor, beta: float, out: Tensor | None = None) -> Tensor:
    """Return scale**-beta. Roots are many times faster than powers."""
    if beta == 0.75:
        root = torch.rsqrt(scale, out=out)
        return root * root.sqrt() if out is None else root.mul_(root.sqrt())
    return torch.pow(scale, -beta, out=out)
