"""Filter: the items of a batch that a selector lets through."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import flattened


class Filter(HasOnnxForm):
    """Of every bottom but the last the items for which the last isn't 0."""

    bottoms = (2, None)
    tops = (1, None)
    varying_axis = 0
    in_place = True
    in_place_in_caffe = "Caffe writes over the gradient that it still reads"
    waits = "makes as many items as are chosen"

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        if len(layer.top) != len(bottoms) - 1:
            raise NetError(f"needs a top for each bottom but the last: {len(bottoms) - 1}, not {len(layer.top)}")
        selector = bottoms[-1]
        if math.prod(selector) != selector[0]:
            raise ShapeError(
                f"the selector, the last bottom, has one value for each item; its shape is {list(selector)}"
            )
        for name, shape in zip(layer.bottom, bottoms, strict=True):
            if shape[:1] != selector[:1]:
                raise ShapeError(f"the selector is for {selector[0]} items, '{name}' has shape {list(shape)}")

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        """As if all items were let through: how many will be nobody knows before the net runs."""
        return list(bottoms[:-1])

    def forward(self, *bottoms: Tensor) -> tuple[Tensor, ...]:
        chosen = bottoms[-1].flatten().nonzero().flatten()
        return tuple(bottom.index_select(0, chosen) for bottom in bottoms[:-1])

    def onnx(self, g: OnnxGraph, *bottoms: str) -> tuple[str, ...]:
        chosen = g.node("Cast", flattened(g, bottoms[-1], 0), to=9)
        return tuple(g.node("Compress", bottom, chosen, axis=0) for bottom in bottoms[:-1])
