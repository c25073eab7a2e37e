"""SoftmaxWithLossOHEM: SoftmaxWithLoss that also tells the loss of every region, for R-FCN."""

from __future__ import annotations

from torch import Tensor

from netdsl.errors import ConversionError
from netdsl.layers.softmax_with_loss import SoftmaxWithLoss
from netdsl.onnx_graph import OnnxGraph


class SoftmaxWithLossOHEM(SoftmaxWithLoss):
    """Tops: the loss, the softmax, and the loss of every place before it is normalised. The last two get no gradient.

    The losses have the labels' shape; or if scores have 4 axes and labels but one, 4 axes too, so that they can be
    added to those of SmoothL1LossOHEM.
    """

    tops = (1, 3)

    def forward(self, x: Tensor, labels: Tensor, *more: Tensor) -> tuple[Tensor, ...]:
        loss, log, losses = self.evaluated(x, labels)
        one_axis = labels.dim() == 1 and x.dim() == 4
        shape = (*x.shape[: self.axis], 1, *x.shape[self.axis + 1 :]) if one_axis else labels.shape
        return loss, log.detach().exp(), losses.detach().reshape(shape)

    def onnx(self, g: OnnxGraph, *bottoms: str) -> tuple[str, ...]:
        raise ConversionError("has no ONNX form")
