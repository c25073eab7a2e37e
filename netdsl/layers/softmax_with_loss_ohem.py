"""SoftmaxWithLossOHEM: SoftmaxWithLoss as R-FCN calls it, which needs the loss of every region."""

from __future__ import annotations

from netdsl.layers.softmax_with_loss import SoftmaxWithLoss


class SoftmaxWithLossOHEM(SoftmaxWithLoss):
    """SoftmaxWithLoss, whose third top has the losses to be added to those of SmoothL1LossOHEM."""

    origin = "R-FCN"
