"""MultinomialLogisticLoss: the negative logarithm of the label's probability."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import clamped, reshaped, scaled, whole
from netdsl.layer.running import Reads, ReadsInBackward
from netdsl.layer.tops import Meaning, ShowsMeaning
from netdsl.layers._loss import LabelLoss, check_one_label_each, classes_of, cut_off, of_class

_LEAST = 1e-20  # Caffe's kLOG_THRESHOLD


class MultinomialLogisticLoss(LabelLoss, HasOnnxForm, ReadsInBackward, ShowsMeaning):
    """Computes the mean of -log x[label] over the batch. The bottom contains probabilities, not scores."""

    meaning = Meaning.CLASSES

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        check_one_label_each(bottoms)

    def forward(self, x: Tensor, labels: Tensor) -> Tensor:
        right = of_class(x.flatten(1), 1, classes_of(labels.reshape(len(x), 1), self.layer))
        return -cut_off(right, least=_LEAST).log().sum() / len(x)

    def reads_bottoms(self) -> Reads:
        return Reads.VALUES

    def onnx(self, g: OnnxGraph, x: str, labels: str) -> str:
        items = g.length(x, 0)
        right = g.node("GatherElements", g.node("Flatten", x), reshaped(g, whole(g, labels), items, 1), axis=1)
        logs = g.node("Log", clamped(g, right, _LEAST, math.inf))
        return scaled(g, g.node("ReduceSum", logs, keepdims=0), -1 / items)
