"""Convolution: a bank of learned filters slid over the input."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from netdsl.layers._convolving import Convolving

_CONVOLVE = (F.conv1d, F.conv2d, F.conv3d)


class Convolution(Convolving):
    """At every place, the sum over a window of the input times a filter, plus a bias."""

    def filters(self, channels: int, outputs: int) -> tuple[int, int]:
        return outputs, channels // self.group

    def slide(self, x: Tensor, weight: Tensor) -> Tensor:
        w = self.window
        pad = w.begin
        if not w.symmetric:
            x, pad = F.pad(x, w.padding), (0,) * len(pad)
        return _CONVOLVE[len(pad) - 1](x, weight, self.bias, w.stride, pad, w.dilation, self.group)
