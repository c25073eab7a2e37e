"""Filter: the items of a batch that a selector keeps."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import flattened


class Filter(HasOnnxForm):
    """Keeps the items of each bottom for which the last bottom, the selector, isn't 0."""

    bottoms = (2, None)
    tops = (1, None)
    varying_axis = 0
    in_place = True
    in_place_in_caffe = "Caffe overwrites the gradient that it still needs"
    waits = "outputs one item for each selected one"

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        if len(layer.top) != len(bottoms) - 1:
            raise NetError(f"each bottom but the last needs a top: give {len(bottoms) - 1} tops, not {len(layer.top)}")
        selector = bottoms[-1]
        if math.prod(selector) != selector[0]:
            raise ShapeError(
                "the last bottom, the selector, must have one value for each item, but its shape is "
                f"{list(selector)}; change it with a Reshape layer"
            )
        for name, shape in zip(layer.bottom, bottoms, strict=True):
            if shape[:1] != selector[:1]:
                raise ShapeError(
                    f"the selector is for {selector[0]} items, but '{name}' has shape {list(shape)}; connect a "
                    "selector of the same batch"
                )

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        """Return the shapes of the bottoms as if all items were kept. The real number is known only when the net
        runs."""
        return list(bottoms[:-1])

    def forward(self, *bottoms: Tensor) -> tuple[Tensor, ...]:
        chosen = bottoms[-1].flatten().nonzero().flatten()
        return tuple(bottom.index_select(0, chosen) for bottom in bottoms[:-1])

    def onnx(self, g: OnnxGraph, *bottoms: str) -> tuple[str, ...]:
        chosen = g.node("Cast", flattened(g, bottoms[-1], 0), to=9)
        return tuple(g.node("Compress", bottom, chosen, axis=0) for bottom in bottoms[:-1])
