"""Tile: a blob repeated along an axis."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape, axis_of, positive


class Tile(HasOnnxForm):
    """Repeats the bottom `tiles` times along an axis."""

    config = pb.TileParameter
    in_place = True
    in_place_in_caffe = "Caffe assumes that the bottom is as long as the top and writes beyond its memory"

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.tile_param
        self.axis, self.tiles = axis_of(p.axis, len(bottoms[0])), positive(p, "tiles")

    def forward(self, x: Tensor) -> Tensor:
        return x.repeat([self.tiles if axis == self.axis else 1 for axis in range(x.dim())])

    def onnx(self, g: OnnxGraph, x: str) -> str:
        return g.node(
            "Tile", x, g.constant([self.tiles if each == self.axis else 1 for each in range(len(g.shape(x)))])
        )
