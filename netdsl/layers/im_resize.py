"""ImResize: rtpose's images at several scales, resized cubically and averaged."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import reduced


class ImResize(HasOnnxForm):
    """One image, the mean of all items. Each is the middle of what it is given, the smaller the later it comes:
    `start_scale` of it for the first, `scale_gap` less for each one more.
    """

    config = pb.ImResizeParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.imresize_param
        if len(bottoms[0]) != 4:
            raise ShapeError(f"resizes images: the bottom needs 4 axes, and has {len(bottoms[0])}")
        self.factor, self.target = p.factor, (p.target_spatial_height, p.target_spatial_width)
        self.start, self.gap = p.start_scale, p.scale_gap
        if min(self._sizes(bottoms[0])) < 1:
            raise NetError("makes no image: give a larger factor, or target_spatial_height and target_spatial_width")

    def _sizes(self, shape: Sequence[int]) -> tuple[int, int]:
        return (int(shape[2] * self.factor), int(shape[3] * self.factor)) if self.factor else self.target

    def forward(self, x: Tensor) -> Tensor:
        height, width = self._sizes(x.shape)
        items = [
            _along(_along(item, 1, height, cut), 2, width, cut) for item, cut in zip(x, self._cuts(len(x)), strict=True)
        ]
        return torch.stack(items).mean(0, keepdim=True)

    def _cuts(self, items: int) -> list[float]:
        """Return what part of each item is left out at its borders."""
        return [1 - self.start + number * self.gap for number in range(items)]

    def onnx(self, g: OnnxGraph, x: str) -> str:
        """Along each side of each item a matrix: what becomes of a picture of every single pixel."""
        lengths = [g.length(x, axis) if axis != 1 else 1 for axis in range(4)]
        height, width = self._sizes(lengths)
        cuts = self._cuts(lengths[0])
        down = [_along(torch.eye(lengths[2]), 0, height, cut).numpy() for cut in cuts]
        across = [_along(torch.eye(lengths[3]), 0, width, cut).numpy().T for cut in cuts]
        x = g.node("MatMul", g.constant(np.stack(down)[:, None]), x)
        return reduced(g, "ReduceMean", g.node("MatMul", x, g.constant(np.stack(across)[:, None])), [0])


def _along(x: Tensor, axis: int, size: int, cut: float) -> Tensor:
    """Return one side resized, after a part of it is cut off at both ends."""
    border = math.floor(x.shape[axis] // 2 * cut)
    length = x.shape[axis] - 2 * border
    places = (torch.arange(size, device=x.device, dtype=x.dtype) + 0.5) * (length / size) - 0.5
    at = (places + 1e-5).trunc().long().clamp_min(0)
    after = (at + 1).clamp_max(length - 1)
    neighbours = ((at - 1).clamp_min(0), at, after, (after + 1).clamp_max(length - 1))
    weights = _cubic((places - at).view(-1, *[1] * (x.dim() - 1 - axis)))
    pairs = zip(neighbours, weights, strict=True)
    return torch.stack([x.index_select(axis, place + border) * weight for place, weight in pairs]).sum(0)


def _cubic(t: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the weights of the pixels before, at, after and behind a place t beyond the second."""
    return (
        -0.5 * t**3 + t**2 - 0.5 * t,
        1.5 * t**3 - 2.5 * t**2 + 1,
        -1.5 * t**3 + 2 * t**2 + 0.5 * t,
        0.5 * t**3 - 0.5 * t**2,
    )
