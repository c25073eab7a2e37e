"""Bias: a smaller blob added to a blob."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.fillers import filled
from netdsl.layer import Shape
from netdsl.layers._elementwise import Elementwise
from netdsl.layers._span import check_second, span, spread


class Bias(Elementwise):
    """x + bias, which is learned or is the second bottom, and lies along the axes from `axis` on."""

    config = pb.BiasParameter
    blobs = ("bias",)
    bottoms = (1, 2)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.bias_param
        self.axis = p.axis
        self.bias = filled(p.filler, span(bottoms[0], p.axis, p.num_axes)) if len(bottoms) == 1 else None

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        check_second(bottoms, self.axis)
        return super().top_shapes(bottoms)

    def forward(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        bias = self.bias if bias is None else bias
        assert bias is not None
        return x + spread(bias, x, self.axis)
