"""EuclideanLossHeatmap: caffe-heatmap's mean squared distance between maps."""

from __future__ import annotations

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import Shape
from netdsl.layer.tops import Meaning, ShowsMeaning
from netdsl.layers._loss import LabelLoss, stated


class EuclideanLossHeatmap(LabelLoss, ShowsMeaning):
    """Computes the mean of (x - y)^2. The third bottom is only for visualisation.

    As in the fork, the gradient is x - y, whatever the divisor and the loss_weight are.
    """

    meaning = Meaning.VALUES

    origin = "caffe-heatmap"
    bottoms = (2, 3)
    no_gradient = (1, 2)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        if len(bottoms[0]) != 4 or bottoms[0] != bottoms[1]:
            raise ShapeError(
                f"both bottoms must be maps of the same shape, but they have shapes {list(bottoms[0])} and "
                f"{list(bottoms[1])}; connect bottoms of one shape"
            )
        self.weight = (layer.loss_weight[0] if layer.loss_weight else 0) or 1.0

    def forward(self, x: Tensor, y: Tensor, *_shown: Tensor) -> Tensor:
        return stated(x, F.mse_loss(x, y), (x - y).detach() / self.weight)
