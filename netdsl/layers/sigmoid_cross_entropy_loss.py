"""SigmoidCrossEntropyLoss: each value is a prediction of its own, with a probability as its target."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import reshaped, whole
from netdsl.layers._loss import LabelLoss, Normaliser, counted, counted_onnx, normalised_onnx


class SigmoidCrossEntropyLoss(LabelLoss, HasOnnxForm):
    """-t log s(x) - (1 - t) log(1 - s(x)), summed; unless told otherwise it is divided by the batch size only.

    In HED's fork the edges of an image, of which there are few, weigh as much as all else: each is multiplied by the
    share of the places with 0, and each of these by the share of those with 1.
    """

    config = pb.SigmoidParameter
    deploys_as = "Sigmoid"

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.normaliser = Normaliser.of(layer.loss_param, pb.LossParameter.BATCH_SIZE)
        self.balanced = self.by_dialect({"hed": True}, False)
        if math.prod(bottoms[0]) != math.prod(bottoms[1]):
            raise ShapeError(f"needs a target for each value; the shapes are {list(bottoms[0])}, {list(bottoms[1])}")

    def forward(self, x: Tensor, targets: Tensor) -> Tensor:
        targets = targets.reshape(x.shape)
        if self.balanced:
            return _balanced(x.flatten(1), targets.flatten(1)) / len(x)
        valid = self.valid(targets.long())  # Caffe's rule: targets are cut to integers to be compared
        losses = counted(F.binary_cross_entropy_with_logits(x, targets, reduction="none"), valid)
        return losses.sum() / self.normaliser(len(x), math.prod(x.shape[1:]), valid)

    def onnx(self, g: OnnxGraph, x: str, targets: str) -> str:
        if self.balanced:
            raise NetError("HED's loss, which weighs edges by how many there are, isn't exported; leave it out")
        lengths = [g.length(x, axis) for axis in range(len(g.shape(x)))]
        targets = reshaped(g, targets, *lengths)
        losses = g.node("Sub", g.node("Softplus", x), g.node("Mul", x, targets))
        valid = self.valid_onnx(g, whole(g, targets))
        losses = counted_onnx(g, losses, valid)
        return normalised_onnx(g, losses, valid, self.normaliser, lengths[0], math.prod(lengths[1:]))


def _balanced(x: Tensor, targets: Tensor) -> Tensor:
    """HED's rule for rows of images. Targets other than 0 and 1 add nothing to the loss, but have their gradient."""
    losses = F.binary_cross_entropy_with_logits(x, targets, reduction="none")
    ones, zeros = targets == 1, targets == 0
    counts = torch.stack((ones.sum(1), zeros.sum(1))).to(x)[:, :, None]
    share_of_ones, share_of_zeros = counts / counts.sum(0).clamp(min=1)
    weighed = torch.where(ones, share_of_zeros * losses, torch.where(zeros, share_of_ones * losses, 0.0))
    others = torch.where(ones | zeros, 0.0, losses)
    return weighed.sum() + others.sum() - others.sum().detach()
