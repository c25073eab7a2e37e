"""SoftmaxWithLoss: the negative logarithm of the true class's softmax."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layer import OnnxGraph, Shape
from netdsl.layer.onnx_form import clamped, reshaped
from netdsl.layer.running import can_be_read
from netdsl.layers._loss import IGNORE, ClassLoss, cut_off, within
from netdsl.layers._settings import refuse

_LEAST = math.log(torch.finfo(torch.float32).tiny)  # Caffe's smallest probability, FLT_MIN
_NO_CLASS = -(2**62)  # the label that torch ignores; it can't occur, since it doesn't fit into an int


class SoftmaxWithLoss(ClassLoss):
    """Computes the normalized sum of -log softmax(x)[label].

    SegNet's `class_weighting` contains a weight for each class. R-FCN's first version has a third top, the loss of each
    position before normalization, without a gradient. It has the labels' shape. If labels have a single axis, it has
    four axes, as in SmoothL1Loss, because R-FCN's own labels have four.
    """

    config = pb.SoftmaxParameter
    tops = (1, 3)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms, layer.softmax_param.axis)
        refuse(layer.loss_param, "label_smoothing")
        refuse(layer.softmax_param, "hard_ratio", "class_weight", "hard_mining_label", "cutting_point")
        refuse(layer.softmax_param, "normalize_type", "label_smooth_factor")
        self.register_buffer("weights", self._weights(bottoms[0][self.axis]), persistent=False)

    def _weights(self, classes: int) -> Tensor | None:
        p = self.layer.loss_param
        if not p.weight_by_label_freqs:
            return None
        if len(p.class_weighting) != classes:
            raise NetError(
                f"there are {len(p.class_weighting)} class_weighting for {classes} classes; give one for each"
            )
        return torch.tensor(list(p.class_weighting))

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        """Return the shapes: a number for the loss, the predictions' shape for the softmax, and that of the losses."""
        self.check_places(bottoms)
        return [(), bottoms[0], self._places(bottoms[0], bottoms[1])][: len(self.layer.top)]

    def losses(self, log: Tensor, classes: Tensor, *more: Tensor) -> Tensor:
        known = within(classes, log.shape[self.axis], IGNORE)
        columns = log if self.axis == 1 else log.movedim(self.axis, min(1, log.dim() - 1))
        losses = cut_off(F.nll_loss(columns, known, reduction="none", ignore_index=_NO_CLASS), most=-_LEAST)
        return losses if self.weights is None else losses * self.weights.to(losses)[classes]

    def forward(self, x: Tensor, labels: Tensor, *more: Tensor) -> Tensor | tuple[Tensor, ...]:
        if len(self.layer.top) < 3:
            return super().forward(x, labels, *more)
        log, classes = self.log_and_classes(x, labels)
        valid = self.valid(classes)
        losses = self.counted_losses(log, classes, valid)
        loss = self.normalized(losses, valid, x.shape)
        return loss, log.detach().exp(), losses.detach().reshape(self._places(x.shape, labels.shape))

    def loss(self, log: Tensor, classes: Tensor, *more: Tensor) -> Tensor:
        plain = log.dim() == 2 and self.axis == 1 and self.weights is None and self.ignored is None
        if plain and log.numel() and can_be_read(log) and log.min().item() >= _LEAST:
            return self._plain_loss(log, classes)
        return super().loss(log, classes, *more)

    def _plain_loss(self, log: Tensor, classes: Tensor) -> Tensor:
        """Return the loss from torch's own sum if all labels count equally. Small nets gain from fewer operations."""
        count, divisor = len(log), self.normalizer(len(log), 1)
        over_all = divisor == count
        try:
            loss = F.nll_loss(log, classes, ignore_index=_NO_CLASS, reduction="mean" if over_all else "sum")
        except IndexError:
            within(classes, log.shape[1], IGNORE)
            raise
        return loss if over_all else loss / divisor

    def _places(self, scores: Shape, labels: Shape) -> Shape:
        """Return the shape of the third top."""
        if len(labels) != 1 or len(scores) > 4:
            return labels
        return (*scores[: self.axis], 1, *scores[self.axis + 1 :], *(1,) * (4 - len(scores)))

    def onnx(self, g: OnnxGraph, x: str, labels: str, *more: str) -> tuple[str, ...]:
        if len(self.layer.top) < 3:
            return super().onnx(g, x, labels, *more)
        loss, log, losses = self.evaluated_onnx(g, x, labels)
        places = self._places(g.shape(x), g.shape(labels))
        return loss, g.node("Exp", log), reshaped(g, losses, *places)

    def losses_onnx(self, g: OnnxGraph, log: str, classes: str, *more: str) -> str:
        right = g.node("GatherElements", log, g.node("Unsqueeze", classes, g.constant([self.axis])), axis=self.axis)
        losses = g.node("Neg", clamped(g, g.node("Squeeze", right, g.constant([self.axis])), _LEAST, math.inf))
        if self.weights is None:
            return losses
        return g.node("Mul", losses, g.node("Gather", g.constant(self.weights.numpy()), classes))
