"""DepthwiseConvolution: the name that most MobileNets have for a convolution with a group for every channel."""

from __future__ import annotations

from netdsl.layers.convolution import Convolution


class DepthwiseConvolution(Convolution):
    """A convolution in which every channel is filtered by itself."""

    origin = "MobileNets"
    depthwise = True
