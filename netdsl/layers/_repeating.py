"""The shared code of layers that repeat each pixel of an image."""

from __future__ import annotations

import torch

from caffe_proto import caffe_pb2 as pb
from netdsl.layer.deploying import NewLayer


def repeating_layer(layer: pb.LayerParameter, channels: int, scale: int) -> NewLayer:
    """Return a deconvolution that repeats each pixel in a square, in place of a layer."""
    settings = {
        "num_output": channels, "group": channels, "kernel_size": [scale], "stride": [scale], "bias_term": False,
    }  # fmt: skip
    made = pb.LayerParameter(
        name=layer.name, type="Deconvolution", bottom=layer.bottom, top=layer.top, convolution_param=settings
    )
    return made, [torch.ones(channels, 1, scale, scale)]
