"""Nms: the peaks of rtpose's maps, with one map for each part of a body."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import UNKNOWN, clamped, part, reduced, reshaped, smaller, whole
from netdsl.layers._settings import refuse

_AROUND = 7  # a peak's position is averaged over this many pixels in each direction


class Nms(HasOnnxForm):
    """Outputs for each item and part a row with the number of peaks, then (x, y, score) for each peak.

    A peak is above the threshold and all eight neighbors. Its position is the mean of the positions around it,
    weighted by their scores. Peaks are in reading order. All peaks are counted, but only `max_peaks` are listed.
    """

    config = pb.NmsParameter
    discontinuous = True

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        refuse(layer.nms_param, "num_peak")
        p, shape = layer.nms_param, bottoms[0]
        self.threshold, self.parts, self.most = p.threshold, p.num_parts, p.max_peaks
        if len(shape) != 4:
            raise ShapeError(
                f"the bottom must be images with 4 axes, but it has {len(shape)}; reshape it to 4 axes with a "
                "Reshape layer"
            )

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        return [(bottoms[0][0], self.parts, self.most + 1, 3)]

    def forward(self, x: Tensor) -> Tensor:
        x = F.pad(x.detach(), (0, 0, 0, 0, 0, self.parts - x.shape[1]))  # a part without a map has no peaks
        peaks = self._peaks(x).flatten(2)
        rank = peaks.cumsum(2)
        rows = torch.stack([*_places(x), x], -1).flatten(2, 3)
        nowhere = self.most + 1  # an extra row for unlisted peaks, which avoids waiting for their number
        row = rank.where(peaks & (rank <= self.most), nowhere)[..., None].expand(-1, -1, -1, 3)
        top = x.new_zeros(len(x), self.parts, nowhere + 1, 3).scatter_(2, row, rows)[:, :, :nowhere].contiguous()
        top[..., 0, 0] = rank[..., -1].to(x.dtype)
        return top

    def _peaks(self, x: Tensor) -> Tensor:
        """Return which pixels are peaks. Caffe's rule: pixels at the border are never peaks."""
        peaks = F.pad(x[:, :, 1:-1, 1:-1] > self.threshold, (1, 1, 1, 1))
        for down in (-1, 0, 1):
            for right in (-1, 0, 1):
                if down or right:
                    peaks = peaks & (x > x.roll((down, right), (2, 3)))
        return peaks

    def onnx(self, g: OnnxGraph, x: str) -> str:
        """Write the peaks in ONNX operators.

        The k-th peak comes after the pixels that have fewer than k peaks up to them.
        """
        channels, height, width = (g.length(x, axis) for axis in (1, 2, 3))
        if channels >= self.parts:
            x = part(g, x, 1, 0, self.parts)
        else:
            x = g.node("Pad", x, g.constant([0, 0, 0, 0, 0, self.parts - channels, 0, 0]))
        peaks = reshaped(g, self._peaks_onnx(g, x, height, width), 0, 0, UNKNOWN)
        rank = g.node("CumSum", peaks, g.constant(2))
        numbers = g.constant(np.arange(1.0, self.most + 1).reshape(self.most, 1))
        before = g.node("Less", g.node("Unsqueeze", rank, g.constant([2])), numbers)
        place = whole(g, reduced(g, "ReduceSum", g.to_float(before), [3]))
        place = smaller(g, place, g.constant(height * width - 1))
        rows = [reshaped(g, each, 0, 0, UNKNOWN, 1) for each in (*_places_onnx(g, x, height, width), x)]
        peak_rows = g.node("GatherND", g.node("Concat", *rows, axis=3), place, batch_dims=2)
        count = reshaped(g, reduced(g, "ReduceSum", peaks, [2]), 0, 0, 1, 1)
        peak_rows = g.node("Where", g.node("LessOrEqual", numbers, count), peak_rows, g.constant(0.0))
        first = g.node("Pad", count, g.constant([0, 0, 0, 0, 0, 0, 0, 2]))
        return g.node("Concat", first, peak_rows, axis=2)

    def _peaks_onnx(self, g: OnnxGraph, x: str, height: int, width: int) -> str:
        """Write a map with 1 at peaks and 0 elsewhere in ONNX operators."""
        shifted = [
            part(g, part(g, x, 2, down, down + height - 2), 3, right, right + width - 2)
            for down in range(3)
            for right in range(3)
        ]
        middle = shifted.pop(4)
        larger = g.node("Greater", middle, g.node("Max", *shifted, g.constant(self.threshold)))
        return g.node("Pad", g.to_float(larger), g.constant([0, 0, 1, 1, 0, 0, 1, 1]))


def _places(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean position around each pixel.

    Caffe's rule: the first row and column don't count, nor do rows beyond the width.
    """
    height, width = x.shape[2:]
    down = torch.arange(height, device=x.device, dtype=x.dtype)[:, None].expand(height, width)
    right = torch.arange(width, device=x.device, dtype=x.dtype).expand(height, width)
    counted = x.clamp_min(0) * ((down > 0) & (right > 0) & (down < width))
    total = _around(counted)
    return _around(counted * right) / total, _around(counted * down) / total


def _places_onnx(g: OnnxGraph, x: str, height: int, width: int) -> list[str]:
    """Write `_places` in ONNX operators."""
    down, right = np.indices((height, width)).astype(np.float32)
    weights = g.constant(((down > 0) & (right > 0) & (down < width)).astype(np.float32))
    counted = g.node("Mul", clamped(g, x, 0, math.inf), weights)
    how = {"kernel_shape": [_AROUND] * 2, "pads": [_AROUND // 2] * 4}  # the divisors cancel
    total = g.node("AveragePool", counted, **how)
    sums = (g.node("AveragePool", g.node("Mul", counted, g.constant(each)), **how) for each in (right, down))
    return [g.node("Div", each, total) for each in sums]


def _around(x: Tensor) -> Tensor:
    return F.avg_pool2d(x, _AROUND, 1, _AROUND // 2, divisor_override=1)
