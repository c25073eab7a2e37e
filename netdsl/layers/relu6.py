"""ReLU6: a ReLU with a maximum of 6."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.layer import OnnxGraph, Shape
from netdsl.layer.deploying import ComputedByOthers, NewLayer
from netdsl.layer.onnx_form import clamped
from netdsl.layer.running import KeepsSigns, Reads, ReadsInBackward
from netdsl.layers._elementwise import Elementwise, clamping_layers
from netdsl.layers._settings import refuse


class ReLU6(Elementwise, KeepsSigns, ReadsInBackward, ComputedByOthers):
    """Computes min(max(x, 0) + slope * min(x, 0), 6). The gradient is 0 where the top is 6."""

    origin = "several forks"
    config = pb.ReLUParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        refuse(layer.relu6_param, "maximum", "minimum")
        self.slope = layer.relu6_param.negative_slope

    def forward(self, x: Tensor) -> Tensor:
        if not self.slope:
            return F.relu6(x)
        return torch.where(x < 6, F.leaky_relu(x, self.slope).clamp(max=6), 6.0)

    def keeps_signs(self) -> bool:
        return self.slope >= 0

    def keeps_passed(self) -> bool:
        return not self.slope

    def reads_bottoms(self) -> Reads:
        return Reads.NOTHING if self.is_in_place() and self.keeps_signs() else Reads.VALUES

    def reads_tops(self) -> Reads:
        return Reads.PASSED if self.is_in_place() and self.keeps_signs() else Reads.NOTHING

    def onnx(self, g: OnnxGraph, x: str) -> str:
        if not self.slope:
            return clamped(g, x, 0, 6)
        return clamped(g, g.node("LeakyRelu", x, alpha=self.slope), -math.inf, 6)

    def in_other_layers(self) -> list[NewLayer]:
        if not self.slope:
            return clamping_layers(self.layer, 0, 6)
        leaky = copy_of(self.layer, without=["relu6_param"])
        leaky.type, leaky.relu_param.negative_slope = "ReLU", self.slope
        in_top = pb.LayerParameter(name=self.layer.name, bottom=leaky.top, top=leaky.top)
        return [(leaky, []), *clamping_layers(in_top, -math.inf, 6)]
