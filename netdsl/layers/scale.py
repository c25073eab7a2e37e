"""Scale: the product of a blob and a smaller one, with an optional bias."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import OnnxGraph, Shape, new_blob
from netdsl.layer.deploying import ChannelAffine
from netdsl.layer.running import MakesNewMemory, Reads, ReadsInBackward
from netdsl.layers._elementwise import Elementwise, check_second, span, spread, spread_onnx
from netdsl.layers._settings import refuse


class Scale(Elementwise, ChannelAffine, MakesNewMemory, ReadsInBackward):
    """Computes x * scale + bias along the axes from `axis` on. The scale is learned, or is the second bottom."""

    config = pb.ScaleParameter
    blobs = ("weight", "bias")
    bottoms = (1, 2)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.scale_param
        refuse(p, "min_value", "max_value")
        self.axis = p.axis
        learned = len(bottoms) == 1
        shape = span(bottoms[0], p.axis, p.num_axes) if learned else bottoms[1]
        default = None if p.HasField("filler") else 1.0
        self.weight = new_blob(p.filler, shape, value=default) if learned else None
        self.bias = new_blob(p.bias_filler, shape) if p.bias_term else None

    def is_per_channel(self) -> bool:
        """Return whether there is one learned value for each channel."""
        return self.weight is not None and self.axis == 1 and self.weight.dim() == 1

    def channel_affine(self) -> tuple[Tensor, Tensor] | None:
        if not self.is_per_channel():
            return None
        assert self.weight is not None
        return self.weight, torch.zeros_like(self.weight) if self.bias is None else self.bias

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        check_second(bottoms, self.axis)
        return super().top_shapes(bottoms)

    def forward(self, x: Tensor, scale: Tensor | None = None) -> Tensor:
        weight = self.weight if scale is None else scale
        assert weight is not None
        top = x * spread(weight, x, self.axis)
        return top if self.bias is None else top.add_(spread(self.bias, x, self.axis))

    def reads_bottoms(self) -> Reads:
        return Reads.NOTHING if self.is_in_place() else Reads.VALUES

    def onnx(self, g: OnnxGraph, x: str, scale: str = "") -> str:
        top = g.node("Mul", x, spread_onnx(g, self, "weight", scale, x, self.axis))
        return top if self.bias is None else g.node("Add", top, spread_onnx(g, self, "bias", "", x, self.axis))
