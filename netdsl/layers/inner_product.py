"""InnerProduct: a fully connected layer."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.fillers import filled
from netdsl.layer import Layer, Shape, axis_of


class InnerProduct(Layer):
    """Everything from `axis` on is one vector, which is multiplied by the weights."""

    config = pb.InnerProductParameter
    blobs = ("weight", "bias")
    fresh = True

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.inner_product_param
        self.axis = axis_of(p.axis, len(bottoms[0]))
        self.transpose = p.transpose
        inputs = math.prod(bottoms[0][self.axis :])
        shape = (inputs, p.num_output) if p.transpose else (p.num_output, inputs)
        self.weight = filled(p.weight_filler, shape)
        self.bias = filled(p.bias_filler, (p.num_output,)) if p.bias_term else None

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x.flatten(self.axis), self.weight.t() if self.transpose else self.weight, self.bias)
