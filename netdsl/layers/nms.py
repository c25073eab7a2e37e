"""Nms: the peaks of rtpose's maps, one map for each part of a body."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import Layer, Shape

_AROUND = 7  # a peak's place is the middle of so many pixels each way


class Nms(Layer):
    """For every item and part: a row that begins with how many peaks there are, then (x, y, score) of each.

    A peak is above the threshold and all eight neighbours. Its place is the mean of the places around it, weighed by
    their scores. Peaks are in the order of reading; only `max_peaks` are told, though all are counted.
    """

    config = pb.NmsParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p, shape = layer.nms_param, bottoms[0]
        self.threshold, self.parts, self.most = p.threshold, p.num_parts, p.max_peaks
        if len(shape) != 4:
            raise ShapeError(f"looks for peaks in images: the bottom needs 4 axes, and has {len(shape)}")

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        return [(bottoms[0][0], self.parts, self.most + 1, 3)]

    def forward(self, x: Tensor) -> Tensor:
        x = F.pad(x.detach(), (0, 0, 0, 0, 0, self.parts - x.shape[1]))  # a part without a map has no peaks
        peaks = self._peaks(x).flatten(2)
        rank = peaks.cumsum(2)
        rows = torch.stack([*_places(x), x], -1).flatten(2, 3)
        top = x.new_zeros(len(x), self.parts, self.most + 1, 3)
        top[..., 0, 0] = rank[..., -1].to(x.dtype)
        item, part, place = (peaks & (rank <= self.most)).nonzero(as_tuple=True)
        top[item, part, rank[item, part, place]] = rows[item, part, place]
        return top

    def _peaks(self, x: Tensor) -> Tensor:
        """Caffe's rule: what is at the border is no peak."""
        peaks = F.pad(x[:, :, 1:-1, 1:-1] > self.threshold, (1, 1, 1, 1))
        for down in (-1, 0, 1):
            for right in (-1, 0, 1):
                if down or right:
                    peaks = peaks & (x > x.roll((down, right), (2, 3)))
        return peaks


def _places(x: Tensor) -> tuple[Tensor, Tensor]:
    """The middle of what is around each pixel.

    Caffe's rule: the first row and column don't count, nor do rows beyond the width.
    """
    height, width = x.shape[2:]
    down = torch.arange(height, device=x.device, dtype=x.dtype)[:, None].expand(height, width)
    right = torch.arange(width, device=x.device, dtype=x.dtype).expand(height, width)
    counted = x.clamp_min(0) * ((down > 0) & (right > 0) & (down < width))
    total = _around(counted)
    return _around(counted * right) / total, _around(counted * down) / total


def _around(x: Tensor) -> Tensor:
    return F.avg_pool2d(x, _AROUND, 1, _AROUND // 2, divisor_override=1)
