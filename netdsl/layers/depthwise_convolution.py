"""DepthwiseConvolution: a convolution with one group for each channel, under the name of most MobileNets."""

from __future__ import annotations

from netdsl.layers.convolution import Convolution


class DepthwiseConvolution(Convolution):
    """Convolves each channel with its own filters."""

    origin = "MobileNets"
    depthwise = True
