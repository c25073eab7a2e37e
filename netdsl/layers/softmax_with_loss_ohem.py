"""SoftmaxWithLossOHEM: R-FCN's name for SoftmaxWithLoss, for nets that need the loss of each region."""

from __future__ import annotations

from netdsl.layers.softmax_with_loss import SoftmaxWithLoss


class SoftmaxWithLossOHEM(SoftmaxWithLoss):
    """Computes SoftmaxWithLoss. The third top contains the losses to add to those of SmoothL1LossOHEM."""

    origin = "R-FCN"
