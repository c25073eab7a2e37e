"""SigmoidCrossEntropyLoss: the cross entropy of independent predictions and target probabilities."""

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
from netdsl.layer.tops import Meaning, ShowsMeaning
from netdsl.layers._loss import LabelLoss, Normalizer, counted, counted_onnx, normalized_onnx


class SigmoidCrossEntropyLoss(LabelLoss, HasOnnxForm, ShowsMeaning):
    """Computes the sum of -t log s(x) - (1 - t) log(1 - s(x)). By default, only the batch size divides it.

    HED's fork balances the few edge pixels of an image with all others. It multiplies the loss of each edge by the
    share of zeros in the targets, and that of each other pixel by the share of ones.
    """

    meaning = Meaning.CLASSES
    config = pb.SigmoidParameter
    deploys_as = "Sigmoid"

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.normalizer = Normalizer.of(layer.loss_param, pb.LossParameter.BATCH_SIZE)
        self.balanced = self.by_dialect({"hed": True}, False)
        if math.prod(bottoms[0]) != math.prod(bottoms[1]):
            raise ShapeError(
                f"there must be one target for each value, but the shapes are {list(bottoms[0])} and "
                f"{list(bottoms[1])}; connect targets with as many values as there are predictions"
            )

    def forward(self, x: Tensor, targets: Tensor) -> Tensor:
        targets = targets.reshape(x.shape)
        if self.balanced:
            return _balanced(x.flatten(1), targets.flatten(1)) / len(x)
        valid = self.valid(targets.long())  # Caffe's rule: targets are cut to integers for this comparison
        losses = counted(F.binary_cross_entropy_with_logits(x, targets, reduction="none"), valid)
        return losses.sum() / self.normalizer(len(x), math.prod(x.shape[1:]), valid)

    def onnx(self, g: OnnxGraph, x: str, targets: str) -> str:
        if self.balanced:
            raise NetError(
                "ONNX export doesn't support HED's loss, which balances edges; remove the layer from the exported net"
            )
        lengths = [g.length(x, axis) for axis in range(len(g.shape(x)))]
        targets = reshaped(g, targets, *lengths)
        losses = g.node("Sub", g.node("Softplus", x), g.node("Mul", x, targets))
        valid = self.valid_onnx(g, whole(g, targets))
        losses = counted_onnx(g, losses, valid)
        return normalized_onnx(g, losses, valid, self.normalizer, lengths[0], math.prod(lengths[1:]))


def _balanced(x: Tensor, targets: Tensor) -> Tensor:
    """Return HED's loss for rows of images. Targets other than 0 and 1 don't add to the loss, but have a gradient."""
    losses = F.binary_cross_entropy_with_logits(x, targets, reduction="none")
    ones, zeros = targets == 1, targets == 0
    counts = torch.stack((ones.sum(1), zeros.sum(1))).to(x)[:, :, None]
    share_of_ones, share_of_zeros = counts / counts.sum(0).clamp(min=1)
    weighed = torch.where(ones, share_of_zeros * losses, torch.where(zeros, share_of_ones * losses, 0.0))
    others = torch.where(ones | zeros, 0.0, losses)
    return weighed.sum() + others.sum() - others.sum().detach()
