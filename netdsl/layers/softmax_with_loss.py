"""SoftmaxWithLoss: the negative logarithm of the softmax of the right class."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layer import Shape
from netdsl.layers._forks import refuse
from netdsl.layers._loss import ClassLoss, floored

_LEAST = math.log(torch.finfo(torch.float32).tiny)  # Caffe's floor under a probability, FLT_MIN


class SoftmaxWithLoss(ClassLoss):
    """-log softmax(x)[label], times the weight that SegNet's `class_weighting` gives to the class, then normalised."""

    config = pb.SoftmaxParameter

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
            raise NetError(f"has {len(p.class_weighting)} class_weighting for {classes} classes; give one for each")
        return torch.tensor(list(p.class_weighting))

    def losses(self, log: Tensor, classes: Tensor, *more: Tensor) -> Tensor:
        right = log.gather(self.axis, classes.unsqueeze(self.axis)).squeeze(self.axis)
        losses = -floored(right, _LEAST)
        return losses if self.weights is None else losses * self.weights.to(losses)[classes]
