"""SmoothL1Loss: the loss of Fast R-CNN's box regression."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import reshaped, scaled
from netdsl.layers._loss import LabelLoss
from netdsl.layers._smooth_l1 import (
    check_alike,
    over_channels,
    over_channels_onnx,
    smooth_l1,
    smooth_l1_onnx,
    weighed,
)


class SmoothL1Loss(LabelLoss, HasOnnxForm):
    """The sum of smooth L1 of the differences of two bottoms, divided by the batch.

    A third bottom weighs the differences, a fourth the losses. Caffe's rule: without the fourth the gradient doesn't
    have the weights of the third. The first R-FCN has a second top, the sums over channels; it gets no gradient.
    """

    config = pb.SmoothL1LossParameter
    bottoms = (2, 4)
    tops = (1, 2)
    no_gradient = (2, 3)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        check_alike(bottoms)
        self.sigma = layer.smooth_l1_loss_param.sigma
        if self.sigma <= 0:
            raise NetError(f"sigma {self.sigma:g} must be more than 0")

    def forward(
        self, x: Tensor, target: Tensor, inside: Tensor | None = None, outside: Tensor | None = None
    ) -> Tensor | tuple[Tensor, Tensor]:
        difference = x - target.reshape(x.shape)
        if inside is not None:
            inside = inside.reshape(x.shape)
            difference = weighed(difference, inside) if outside is None else difference * inside
        losses = smooth_l1(difference, self.sigma)
        losses = losses if outside is None else losses * outside.reshape(x.shape)
        loss = losses.sum() / len(x)
        return loss if len(self.layer.top) < 2 else (loss, over_channels(losses.detach()))

    def onnx(self, g: OnnxGraph, x: str, target: str, inside: str = "", outside: str = "") -> tuple[str, ...]:
        lengths = [g.length(x, axis) for axis in range(len(g.shape(x)))]
        difference = g.node("Sub", x, reshaped(g, target, *lengths))
        difference = g.node("Mul", difference, reshaped(g, inside, *lengths)) if inside else difference
        losses = smooth_l1_onnx(g, difference, self.sigma)
        losses = g.node("Mul", losses, reshaped(g, outside, *lengths)) if outside else losses
        loss = scaled(g, g.node("ReduceSum", losses, keepdims=0), 1 / lengths[0])
        return (loss,) if len(self.layer.top) < 2 else (loss, over_channels_onnx(g, losses, lengths))
