"""ConvolutionDepthwise: a convolution with one group for each channel."""

from __future__ import annotations

from netdsl.layers.convolution import Convolution


class ConvolutionDepthwise(Convolution):
    """Convolves each channel with its own filters. `num_output` may be left out."""

    origin = "MobileNets"
    depthwise = True
