"""DepthwiseConvolution: a convolution with one group for each channel, under the name of most MobileNets."""

from __future__ import annotations

from netdsl.layers._depthwise import Depthwise


class DepthwiseConvolution(Depthwise):
    """Convolves each channel with its own filters."""
