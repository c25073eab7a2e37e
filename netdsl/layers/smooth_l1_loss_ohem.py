"""SmoothL1LossOHEM: the loss of R-FCN's box regression, which also outputs the loss of each region."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import reshaped
from netdsl.layer.tops import Meaning, ShowsMeaning
from netdsl.layers._loss import (
    LabelLoss,
    Normalizer,
    check_alike,
    normalized_onnx,
    over_channels,
    over_channels_onnx,
    smooth_l1,
    smooth_l1_onnx,
    weighed,
)


class SmoothL1LossOHEM(LabelLoss, HasOnnxForm, ShowsMeaning):
    """Computes the normalized sum of the smooth L1 of the differences of two bottoms. A third bottom can weight them.

    The second top contains the sums over channels and gets no gradient. Caffe's rule: the gradient ignores the weights,
    and the default `loss_weight` is 0.
    """

    meaning = Meaning.VALUES

    origin = "R-FCN"
    bottoms = (2, 3)
    tops = (1, 2)
    no_gradient = (2,)
    unset_weight = 0.0

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        check_alike(bottoms)
        self.normalizer = Normalizer.of(layer.loss_param)

    def forward(self, x: Tensor, target: Tensor, inside: Tensor | None = None) -> tuple[Tensor, Tensor]:
        difference = x - target.reshape(x.shape)
        losses = smooth_l1(difference if inside is None else weighed(difference, inside.reshape(x.shape)))
        each = over_channels(losses)
        return losses.sum() / self.normalizer(len(x), each[0].numel()), each.detach()

    def onnx(self, g: OnnxGraph, x: str, target: str, inside: str = "") -> tuple[str, str]:
        lengths = [g.length(x, axis) for axis in range(len(g.shape(x)))]
        difference = g.node("Sub", x, reshaped(g, target, *lengths))
        difference = g.node("Mul", difference, reshaped(g, inside, *lengths)) if inside else difference
        losses = smooth_l1_onnx(g, difference, 1)
        loss = normalized_onnx(g, losses, None, self.normalizer, lengths[0], math.prod(lengths[2:]))
        return loss, over_channels_onnx(g, losses, lengths)
