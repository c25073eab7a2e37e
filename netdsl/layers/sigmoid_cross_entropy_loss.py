"""SigmoidCrossEntropyLoss: each value is a prediction of its own, with a probability as its target."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import reshaped, whole
from netdsl.layers._loss import LabelLoss, Normaliser, counted, counted_onnx, normalised_onnx


class SigmoidCrossEntropyLoss(LabelLoss, HasOnnxForm):
    """-t log s(x) - (1 - t) log(1 - s(x)), summed; unless told otherwise it is divided by the batch size only."""

    config = pb.SigmoidParameter
    deploys_as = "Sigmoid"

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.normaliser = Normaliser.of(layer.loss_param, pb.LossParameter.BATCH_SIZE)
        if math.prod(bottoms[0]) != math.prod(bottoms[1]):
            raise ShapeError(f"needs a target for each value; the shapes are {list(bottoms[0])}, {list(bottoms[1])}")

    def forward(self, x: Tensor, targets: Tensor) -> Tensor:
        targets = targets.reshape(x.shape)
        valid = self.valid(targets.long())  # Caffe's rule: targets are cut to integers to be compared
        losses = counted(F.binary_cross_entropy_with_logits(x, targets, reduction="none"), valid)
        return losses.sum() / self.normaliser(len(x), math.prod(x.shape[1:]), valid)

    def onnx(self, g: OnnxGraph, x: str, targets: str) -> str:
        lengths = [g.length(x, axis) for axis in range(len(g.shape(x)))]
        targets = reshaped(g, targets, *lengths)
        losses = g.node("Sub", g.node("Softplus", x), g.node("Mul", x, targets))
        valid = self.valid_onnx(g, whole(g, targets))
        losses = counted_onnx(g, losses, valid)
        return normalised_onnx(g, losses, valid, self.normaliser, lengths[0], math.prod(lengths[1:]))
