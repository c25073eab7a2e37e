"""Deconvolution: a transposed convolution, which enlarges its input."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import Shape
from netdsl.layers._window import Convolving

_LARGEST_WINDOW = 128  # in a direction; nets for segmentation enlarge up to 32 times, with windows of 64
_DECONVOLVE = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)


class Deconvolution(Convolving):
    """Computes a transposed convolution with learned filters and adds a bias.

    Each value of the bottom scales the filters, which are added to a window of the top. The padding is cut off the
    result.
    """

    operator = "ConvTranspose"

    def filters(self, channels: int, outputs: int) -> tuple[int, int]:
        return channels, outputs // self.group

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        if self.window.same:
            raise NetError("pad_type: 1 isn't supported because no fork defines it for this type; set pad instead")

    def scaled(self, factor: Tensor) -> Tensor:
        groups = self.weight.view(self.group, -1, *self.weight.shape[1:])
        return (groups * factor.view(self.group, 1, -1, *[1] * self.spatial)).flatten(0, 1)

    def prefers_channels_last(self) -> bool:
        """Return whether oneDNN is faster with channels last. With large windows it can need minutes instead of a
        second, depending on the size of the top."""
        return super().prefers_channels_last() and max(self.window.kernel) <= _LARGEST_WINDOW

    def products(self, bottoms: Sequence[Shape], tops: Sequence[Shape]) -> int:
        """Return the number of products. Each value of the bottom scales the filters of its channel."""
        return super().products(tops, bottoms)

    def working_values(self, bottoms: Sequence[Shape], tops: Sequence[Shape]) -> int:
        """Return the number of values in the windows of one item, which torch stores before it adds them up."""
        return math.prod((self.weight.shape[1] * self.group, *self.window.kernel, *bottoms[0][self.axis + 1 :]))

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        """Return the size that the windows cover, minus the padding. Raises a `ShapeError` if nothing is left."""
        w, sizes = self.window, bottoms[0][self.axis + 1 :]
        covered = [(size - 1) * step + reach for size, step, reach in zip(sizes, w.stride, w.extent, strict=False)]
        if any(length <= sum(cut) for length, *cut in zip(covered, w.begin, w.end, strict=False)):
            raise ShapeError(
                f"pad {list(w.begin)} removes the whole top, which has the size {covered} without it; lower pad"
            )
        return super().top_shapes(bottoms)

    def slide(self, x: Tensor, weight: Tensor) -> Tensor:
        w = self.window
        pad = tuple(map(min, w.begin, w.end))
        deconvolve = _DECONVOLVE[len(pad) - 1]
        y = deconvolve(x, weight, self.bias, w.stride, pad, 0, self.group, w.dilation)
        if w.symmetric:
            return y
        ends = zip(reversed(w.begin), reversed(w.end), reversed(pad), strict=True)
        return F.pad(y, [cut - size for begin, end, cut in ends for size in (begin, end)])
