"""SeLuDropout: dropout that preserves the mean and variance of a SeLu's top."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layer import OnnxGraph, Shape
from netdsl.layers._elementwise import Elementwise


class SeLuDropout(Elementwise):
    """Sets random values to alpha in training, then scales and shifts all values to compensate."""

    config = pb.SeLuDropoutParameter
    any_layout = False  # random numbers are drawn in memory order

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.selu_dropout_param
        if not 0 < p.dropout_ratio < 1:
            raise NetError(f"dropout_ratio is {p.dropout_ratio:g}; set it between 0 and 1")
        self.kept, self.alpha = 1 - p.dropout_ratio, p.alpha
        self.scale = (self.kept * (1 + self.alpha**2 * p.dropout_ratio)) ** -0.5
        self.shift = -self.scale * p.dropout_ratio * self.alpha

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x.view_as(x)
        kept = torch.rand_like(x) < self.kept
        top: Tensor = self.scale * torch.where(kept, x, self.alpha) + self.shift
        return top

    def onnx(self, g: OnnxGraph, x: str) -> str:
        return x
