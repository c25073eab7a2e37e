"""Deconvolution: a convolution run backward, which makes its input larger."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from netdsl.layers._convolving import Convolving

_DECONVOLVE = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)


class Deconvolution(Convolving):
    """Every input is spread over a window as a filter says; padding is cut off the sum."""

    operator = "ConvTranspose"

    def filters(self, channels: int, outputs: int) -> tuple[int, int]:
        return channels, outputs // self.group

    def scaled(self, factor: Tensor) -> Tensor:
        groups = self.weight.view(self.group, -1, *self.weight.shape[1:])
        return (groups * factor.view(self.group, 1, -1, *[1] * self.spatial)).flatten(0, 1)

    def slide(self, x: Tensor, weight: Tensor) -> Tensor:
        w = self.window
        pad = tuple(map(min, w.begin, w.end))
        deconvolve = _DECONVOLVE[len(pad) - 1]
        y = deconvolve(x, weight, self.bias, w.stride, pad, 0, self.group, w.dilation)
        if w.symmetric:
            return y
        ends = zip(reversed(w.begin), reversed(w.end), reversed(pad), strict=True)
        return F.pad(y, [cut - size for begin, end, cut in ends for size in (begin, end)])
