"""ReLU: what is negative becomes zero, or is scaled by a slope."""

from __future__ import annotations

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import Layer, Shape


class ReLU(Layer):
    """max(x, 0) + slope * min(x, 0)."""

    config = pb.ReLUParameter
    in_place = True

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.slope = layer.relu_param.negative_slope

    def forward(self, x: Tensor) -> Tensor:
        return F.leaky_relu(x, self.slope) if self.slope else F.relu(x)
