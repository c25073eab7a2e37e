"""Fillers and layers that several nets share."""

from __future__ import annotations

from caffe_proto import caffe_pb2 as pb
from netdsl import BatchNorm, ConvLayer, ReLU, Scale

MSRA = {"type": "msra"}


def conv_bn(
    name: str, bottom: str, filters: int, kernel: int, stride: int = 1, *, relu: bool = True, group: int = 1
) -> list[pb.LayerParameter]:
    """A convolution with BatchNorm and Scale, and a ReLU unless it is left out."""
    conv = ConvLayer(
        name,
        [bottom],
        kernel=kernel,
        num_filters=filters,
        stride=stride,
        pad=kernel // 2,
        group=group,
        bias_term=False,
        weight_filler=MSRA,
    )
    norm = BatchNorm(f"bn_{name}", [name], in_place=True)
    scale = Scale(f"scale_{name}", [name], in_place=True, bias_term=True)
    return [conv, norm, scale] + ([ReLU(f"relu_{name}", [name], in_place=True)] if relu else [])
