"""HingeLoss: a one-versus-all hinge loss over classes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import reshaped, scaled, whole
from netdsl.layer.tops import Meaning, ShowsMeaning
from netdsl.layers._loss import LabelLoss, check_one_label_each, classes_of, within


class HingeLoss(LabelLoss, HasOnnxForm, ShowsMeaning):
    """Computes the sum of max(0, 1 - x) for true classes and max(0, 1 + x) for all others, or of their squares, over
    N."""

    meaning = Meaning.CLASSES
    config = pb.HingeLossParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        check_one_label_each(bottoms)
        if len(bottoms[0]) < 2:
            raise ShapeError(
                f"the first bottom must have a score for each class, not shape {list(bottoms[0])}; connect the "
                "top of an InnerProduct layer with an output for each class"
            )
        self.squared = layer.hinge_loss_param.norm == pb.HingeLossParameter.L2

    def forward(self, x: Tensor, labels: Tensor) -> Tensor:
        scores = x.flatten(1)
        classes = within(classes_of(labels.reshape(len(x), 1), self.layer), scores.shape[1])
        signs = torch.ones_like(scores).scatter(1, classes, -1.0)
        margins = F.relu(1 + signs * scores)
        return (margins.square() if self.squared else margins).sum() / len(x)

    def onnx(self, g: OnnxGraph, x: str, labels: str) -> str:
        items, scores = g.length(x, 0), g.node("Flatten", x)
        classes = math.prod(g.length(x, axis) for axis in range(1, len(g.shape(x))))
        right = g.node("Equal", reshaped(g, whole(g, labels), items, 1), g.constant(np.arange(classes)))
        margins = g.node("Mul", g.node("Where", right, g.constant(-1.0), g.constant(1.0)), scores)
        margins = g.node("Relu", scaled(g, margins, 1, 1))
        total = g.node("ReduceSumSquare" if self.squared else "ReduceSum", margins, keepdims=0)
        return scaled(g, total, 1 / items)
