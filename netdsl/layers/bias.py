"""Bias: the sum of a blob and a smaller one."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import OnnxGraph, Shape, new_blob
from netdsl.layer.deploying import ChannelAffine
from netdsl.layers._elementwise import Elementwise, check_second, span, spread, spread_onnx


class Bias(Elementwise, ChannelAffine):
    """Computes x + bias along the axes from `axis` on. The bias is learned, or is the second bottom."""

    config = pb.BiasParameter
    blobs = ("bias",)
    bottoms = (1, 2)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.bias_param
        self.axis = p.axis
        self.bias = new_blob(p.filler, span(bottoms[0], p.axis, p.num_axes)) if len(bottoms) == 1 else None

    def channel_affine(self) -> tuple[Tensor, Tensor] | None:
        if self.bias is None or self.axis != 1 or self.bias.dim() != 1:
            return None
        return torch.ones_like(self.bias), self.bias

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        check_second(bottoms, self.axis)
        return super().top_shapes(bottoms)

    def forward(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        bias = self.bias if bias is None else bias
        assert bias is not None
        return x + spread(bias, x, self.axis)

    def onnx(self, g: OnnxGraph, x: str, bias: str = "") -> str:
        return g.node("Add", x, spread_onnx(g, self, "bias", bias, x, self.axis))
