"""BatchReindex: items of a batch selected by index, with repetitions."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import whole
from netdsl.layers._loss import indices_of


class BatchReindex(HasOnnxForm):
    """Selects items of the first bottom by the indices in the second bottom.

    An index can occur several times or not at all.
    """

    bottoms = (2, 2)
    no_gradient = (1,)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        if len(bottoms[1]) != 1:
            raise ShapeError(
                "the second bottom must be a list of indices with one axis, but it has shape "
                f"{list(bottoms[1])}; change it with a Reshape layer"
            )

    def forward(self, x: Tensor, index: Tensor) -> Tensor:
        return x.index_select(0, indices_of(index, len(x), "items", "give the first bottom more items"))

    def onnx(self, g: OnnxGraph, x: str, index: str) -> str:
        return g.node("Gather", x, whole(g, index), axis=0)
