"""ImResize: rtpose's mean of images at several scales, with cubic resizing."""

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
    """Computes the mean of all items after each is cropped at the borders and resized.

    The first item is cropped to `start_scale` of its size, and each further one to `scale_gap` less.
    """

    config = pb.ImResizeParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.imresize_param
        if len(bottoms[0]) != 4:
            raise ShapeError(
                f"the bottom must be images with 4 axes, but it has {len(bottoms[0])}; reshape it to 4 axes "
                "with a Reshape layer"
            )
        self.factor, self.target = p.factor, (p.target_spatial_height, p.target_spatial_width)
        self.start, self.gap = p.start_scale, p.scale_gap
        if min(self._sizes(bottoms[0])) < 1:
            raise NetError(
                "the top would be empty; set a larger factor, or target_spatial_height and target_spatial_width"
            )

    def _sizes(self, shape: Sequence[int]) -> tuple[int, int]:
        return (int(shape[2] * self.factor), int(shape[3] * self.factor)) if self.factor else self.target

    def forward(self, x: Tensor) -> Tensor:
        height, width = self._sizes(x.shape)
        items = [
            _along(_along(item, 1, height, cut), 2, width, cut) for item, cut in zip(x, self._cuts(len(x)), strict=True)
        ]
        return torch.stack(items).mean(0, keepdim=True)

    def _cuts(self, items: int) -> list[float]:
        """Return the part of each item that is cut off at its borders."""
        return [1 - self.start + number * self.gap for number in range(items)]

    def onnx(self, g: OnnxGraph, x: str) -> str:
        """Write a matrix product along each side of each item in ONNX operators.

        The matrices result from resizing an identity.
        """
        lengths = [g.length(x, axis) if axis != 1 else 1 for axis in range(4)]
        height, width = self._sizes(lengths)
        cuts = self._cuts(lengths[0])
        down = [_along(torch.eye(lengths[2]), 0, height, cut).numpy() for cut in cuts]
        across = [_along(torch.eye(lengths[3]), 0, width, cut).numpy().T for cut in cuts]
        x = g.node("MatMul", g.constant(np.stack(down)[:, None]), x)
        return reduced(g, "ReduceMean", g.node("MatMul", x, g.constant(np.stack(across)[:, None])), [0])


def _along(x: Tensor, axis: int, size: int, cut: float) -> Tensor:
    """Return an image with one side resized, after a part is cut off at both ends."""
    border = math.floor(x.shape[axis] // 2 * cut)
    length = x.shape[axis] - 2 * border
    places = (torch.arange(size, device=x.device, dtype=x.dtype) + 0.5) * (length / size) - 0.5
    at = (places + 1e-5).trunc().long().clamp_min(0)
    after = (at + 1).clamp_max(length - 1)
    neighbors = ((at - 1).clamp_min(0), at, after, (after + 1).clamp_max(length - 1))
    weights = _cubic((places - at).view(-1, *[1] * (x.dim() - 1 - axis)))
    pairs = zip(neighbors, weights, strict=True)
    return torch.stack([x.index_select(axis, place + border) * weight for place, weight in pairs]).sum(0)


def _cubic(t: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the cubic weights of four consecutive pixels for a position t after the second one."""
    return (
        -0.5 * t**3 + t**2 - 0.5 * t,
        1.5 * t**3 - 2.5 * t**2 + 1,
        -1.5 * t**3 + 2 * t**2 + 0.5 * t,
        0.5 * t**3 - 0.5 * t**2,
    )
