"""SmoothL1LossOHEM: R-FCN's box regression, which also tells the loss of every region."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import Shape
from netdsl.layers._loss import LossLayer, Normaliser
from netdsl.layers._smooth_l1 import check_alike, smooth_l1, weighed


class SmoothL1LossOHEM(LossLayer):
    """The sum of smooth L1 of the differences of two bottoms, which a third may weigh, normalised.

    The second top has the sums over channels; it gets no gradient. Caffe's rule: the gradient doesn't have the weights.
    """

    bottoms = (2, 3)
    tops = (1, 2)
    no_gradient = (2,)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        check_alike(bottoms)
        self.normaliser = Normaliser.of(layer.loss_param)

    def forward(self, x: Tensor, target: Tensor, inside: Tensor | None = None) -> tuple[Tensor, Tensor]:
        difference = x - target.reshape(x.shape)
        losses = smooth_l1(difference if inside is None else weighed(difference, inside.reshape(x.shape)))
        losses = losses.reshape(*losses.shape, *(1,) * (4 - losses.dim()))
        each = losses.sum(1, keepdim=True)
        return losses.sum() / self.normaliser(len(x), each[0].numel()), each.detach()
