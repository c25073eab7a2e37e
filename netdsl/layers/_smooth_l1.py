"""What the losses of box regression share: a difference that is squared while it is small."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from netdsl.errors import ShapeError
from netdsl.layer import OnnxGraph, Shape
from netdsl.layer.onnx_form import reduced, reshaped, scaled

# Forks whose layers don't set up what all losses have, so that one without a loss_weight has none.
WEIGHTLESS = ("fast-rcnn", "faster-rcnn", "rfcn", "pvanet", "intel", "tsn", "happynear", "happynear-ms")


def smooth_l1(difference: Tensor, sigma: float = 1) -> Tensor:
    """(sigma d)² / 2 where |d| < 1 / sigma², and |d| - 1 / 2 sigma² elsewhere."""
    return F.smooth_l1_loss(difference, torch.zeros_like(difference), reduction="none", beta=1 / sigma**2)


class _Weighed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, weights: Tensor) -> Tensor:
        return values * weights

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0], None


def weighed(values: Tensor, weights: Tensor) -> Tensor:
    """Values times weights whose gradient passes unchanged, since Caffe forgets these weights on the way back."""
    result: Tensor = _Weighed.apply(values, weights)  # type: ignore[no-untyped-call]
    return result


def check_alike(bottoms: Sequence[Shape]) -> None:
    """A ShapeError unless all bottoms have the shape of the first. Caffe's rule: axes that are missing are 1 long."""
    axes = max(len(shape) for shape in bottoms)
    full = [(*shape, *(1,) * (axes - len(shape))) for shape in bottoms]
    for shape, other in zip(full, bottoms, strict=True):
        if shape != full[0]:
            raise ShapeError(f"all bottoms must have the same shape, not {list(bottoms[0])} and {list(other)}")


def over_channels(losses: Tensor) -> Tensor:
    """The losses summed over channels. Caffe's rule: axes that are missing are 1 long."""
    return losses.reshape(*losses.shape, *(1,) * (4 - losses.dim())).sum(1, keepdim=True)


def over_channels_onnx(g: OnnxGraph, losses: str, lengths: Sequence[int]) -> str:
    """The same, told to an ONNX graph."""
    return reduced(g, "ReduceSum", reshaped(g, losses, *lengths, *(1,) * (4 - len(lengths))), [1])


def smooth_l1_onnx(g: OnnxGraph, difference: str, sigma: float) -> str:
    """`smooth_l1`, told to an ONNX graph."""
    size, square = g.node("Abs", difference), g.node("Mul", difference, difference)
    near = g.node("Less", size, g.constant(1 / sigma**2))
    return g.node("Where", near, scaled(g, square, sigma**2 / 2), scaled(g, size, 1, -0.5 / sigma**2))
