"""ConvolutionDepthwise: a convolution with one group for each channel."""

from __future__ import annotations

from netdsl.layers._depthwise import Depthwise


class ConvolutionDepthwise(Depthwise):
    """Convolves each channel with its own filters. `num_output` may be left out."""
