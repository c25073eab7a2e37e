"""ConvolutionDepthwise: another name for a convolution with a group for every channel."""

from __future__ import annotations

from netdsl.layers.convolution import Convolution


class ConvolutionDepthwise(Convolution):
    """A convolution in which every channel is filtered by itself; `num_output` may be left out."""

    origin = "MobileNets"
    depthwise = True
