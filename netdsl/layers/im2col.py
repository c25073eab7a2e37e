"""Im2col: each window of the input laid out as channels."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ConversionError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape, axis_of
from netdsl.layers._window import convolution_window


class Im2col(HasOnnxForm):
    """Copies each window of the bottom to the channels of one position.

    Each bottom channel has a top channel per window position.
    """

    config = pb.ConvolutionParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.convolution_param
        self.axis = axis_of(p.axis, len(bottoms[0]))
        spatial = len(bottoms[0]) - self.axis - 1
        if not spatial:
            raise ShapeError(f"axis {p.axis} has the channels, but no axis comes after it; lower axis")
        self.window = convolution_window(p, spatial)

    def forward(self, x: Tensor) -> Tensor:
        w = self.window.on(x.shape[self.axis + 1 :])
        x = F.pad(x, w.padding)
        places = range(self.axis + 1, self.axis + 1 + len(w.kernel))
        for axis, extent, stride, hole in zip(places, w.extent, w.stride, w.dilation, strict=True):
            x = x.unfold(axis, extent, stride)[..., ::hole]
        return x.movedim(tuple(range(-len(w.kernel), 0)), tuple(places)).flatten(self.axis, places[-1])

    def onnx(self, g: OnnxGraph, x: str) -> str:
        """Write a convolution with one filter for each channel and window position, which copies that position only."""
        axes = len(g.shape(x))
        w = self.window.on(g.length(x, axis) for axis in range(self.axis + 1, axes))
        if self.axis != 1 or axes > 5:
            raise ConversionError(
                "can be exported only with channels on axis 1 and at most 3 axes after it; set axis: 1"
            )
        channels, places = g.length(x, 1), math.prod(w.kernel)
        filters = np.tile(np.eye(places).reshape(places, 1, *w.kernel), (channels, 1, *(1,) * len(w.kernel)))
        settings = {"strides": w.stride, "pads": w.begin + w.end, "dilations": w.dilation, "group": channels}
        return g.node("Conv", x, g.constant(filters), kernel_shape=w.kernel, **settings)
