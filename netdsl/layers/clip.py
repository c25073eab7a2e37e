"""Clip: values clamped between two bounds."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layer import OnnxGraph, Shape
from netdsl.layer.deploying import ComputedByOthers, NewLayer
from netdsl.layer.onnx_form import clamped
from netdsl.layer.running import KeepsSigns, Reads, ReadsInBackward
from netdsl.layers._elementwise import Elementwise, clamping_layers


class Clip(Elementwise, KeepsSigns, ReadsInBackward, ComputedByOthers):
    """Computes max(min, min(x, max)). The gradient passes at the bounds themselves."""

    config = pb.ClipParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.clip_param
        if not (p.HasField("min") and p.HasField("max")):
            raise NetError("min or max is missing; set both in clip_param")
        if p.min > p.max:
            raise NetError(f"min {p.min:g} is greater than max {p.max:g}; swap them")
        self.min, self.max = p.min, p.max

    def forward(self, x: Tensor) -> Tensor:
        # Since release 2.15, torch's clamp doesn't pass the gradient at the bounds.
        return torch.where((x >= self.min) & (x <= self.max), x, x.detach().clamp(self.min, self.max))

    def reads_bottoms(self) -> Reads:
        return Reads.VALUES

    def keeps_signs(self) -> bool:
        return self.min <= 0 < self.max

    def onnx(self, g: OnnxGraph, x: str) -> str:
        return clamped(g, x, self.min, self.max)

    def in_other_layers(self) -> list[NewLayer]:
        return clamping_layers(self.layer, self.min, self.max)
