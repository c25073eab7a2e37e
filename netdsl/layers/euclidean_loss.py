"""EuclideanLoss: half the mean squared distance between two blobs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import reduced, reshaped, scaled
from netdsl.layer.tops import Meaning, ShowsMeaning
from netdsl.layers._loss import LabelLoss


class EuclideanLoss(LabelLoss, HasOnnxForm, ShowsMeaning):
    """Computes sum (x - y)^2 / (2 N). Both bottoms get a gradient."""

    meaning = Meaning.VALUES
    no_gradient = ()
    predictions = (0, 1)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        if math.prod(bottoms[0]) != math.prod(bottoms[1]):
            raise ShapeError(
                f"both bottoms must have the same number of values, but they have shapes {list(bottoms[0])} and "
                f"{list(bottoms[1])}; connect bottoms of one shape"
            )

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return F.mse_loss(x, y.reshape(x.shape), reduction="sum") / (2 * len(x))

    def onnx(self, g: OnnxGraph, x: str, y: str) -> str:
        shape = g.shape(x)
        if g.shape(y) != shape:
            y = reshaped(g, y, *(g.length(x, axis) for axis in range(len(shape))))
        squares = reduced(g, "ReduceSumSquare", g.node("Sub", x, y), range(len(shape)), keep=False)
        return scaled(g, squares, 1 / (2 * g.length(x, 0)))
