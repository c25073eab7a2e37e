"""The convolutions of VGG-16 without its fully connected layers, the basis of many nets for segmentation and
detection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from caffe_proto import caffe_pb2 as pb
from netdsl import ConvLayer, Max, PoolLayer, ReLU

Settings = Mapping[str, Any]  # settings of a convolution

# For each stage, its number of convolutions and their channels.
VGG_16 = ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512))


def rates(weights: float, biases: float | None = None) -> Settings:
    """Return learning rates of weights and biases. Biases learn twice as fast by default, and don't decay."""
    biases = 2 * weights if biases is None else biases
    return {"param": [{"lr_mult": weights, "decay_mult": 1}, {"lr_mult": biases, "decay_mult": 0}]}


def conv_relu(
    name: str, bottom: str, width: int, *, kernel: int = 3, pad: int = 1, relu: str = "", **settings: Any
) -> list[pb.LayerParameter]:
    """Return a convolution and an in-place ReLU. The ReLU is named after the convolution unless `relu` is given."""
    return [
        ConvLayer(name, [bottom], kernel=kernel, pad=pad, num_filters=width, **settings),
        ReLU(relu or name.replace("conv", "relu").replace("fc", "relu"), [name], in_place=True),
    ]


def vgg_trunk(stages: Sequence[Settings], *, first_pad: int = 1) -> list[pb.LayerParameter]:
    """Return VGG-16 from `data` to `conv5_3`, with these settings of its stages. A larger `first_pad` allows later
    blobs to be cropped to the data."""
    layers, bottom = [], "data"
    for stage, ((convolutions, width), settings) in enumerate(zip(VGG_16, stages, strict=True), 1):
        for number in range(1, convolutions + 1):
            name, pad = f"conv{stage}_{number}", first_pad if bottom == "data" else 1
            layers += conv_relu(name, bottom, width, pad=pad, **settings)
            bottom = name
        if stage < len(VGG_16):
            layers.append(PoolLayer(f"pool{stage}", [bottom], pool=Max, kernel=2, stride=2))
            bottom = f"pool{stage}"
    return layers
