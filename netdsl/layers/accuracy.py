"""Accuracy: the share of labels that are among the best scores."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape, axis_of
from netdsl.layer.onnx_form import UNKNOWN, clamped, reduced, reshaped, whole
from netdsl.layer.tops import ComparesClasses
from netdsl.layers._loss import IGNORE, classes_of, of_class
from netdsl.layers._settings import refuse


class Accuracy(ComparesClasses, HasOnnxForm):
    """Computes the share of labels for which fewer than `top_k` other classes score at least as high.

    The second top contains the share for each class.
    """

    config = pb.AccuracyParameter
    bottoms = (2, 2)
    tops = (1, 2)
    no_gradient = (0, 1)
    predictions = (0,)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.accuracy_param
        refuse(p, "min_is_better", "denominator")
        self.axis = axis_of(p.axis, len(bottoms[0]))
        self.top_k, self.by_class = p.top_k, len(layer.top) > 1
        self.ignore_label = p.ignore_label if p.HasField("ignore_label") else None

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        scores, labels = bottoms
        classes = scores[self.axis]
        predictions = math.prod(scores[: self.axis] + scores[self.axis + 1 :])
        if math.prod(labels) != predictions:
            what = f"{predictions} predictions of {classes} classes along axis {self.axis}"
            raise ShapeError(f"there are {math.prod(labels)} labels for {what}; give one label for each")
        if self.top_k > classes:
            raise ShapeError(f"top_k {self.top_k} is more than the {classes} classes; lower top_k")
        return [(), (classes,)] if self.by_class else [()]

    def ignored_labels(self) -> list[int]:
        return [] if self.ignore_label is None else [self.ignore_label]

    def forward(self, x: Tensor, label: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        label = classes_of(label.reshape(*x.shape[: self.axis], 1, *x.shape[self.axis + 1 :]), self.layer)
        counted = torch.ones_like(label, dtype=torch.bool) if self.ignore_label is None else label != self.ignore_label
        label = torch.where(counted, label, 0)
        others = (x >= of_class(x, self.axis, label, IGNORE)).sum(self.axis, keepdim=True) - 1
        right = ((others < self.top_k) & counted).to(x.dtype)
        accuracy = _share(right.sum(), counted.to(x.dtype).sum())
        if not self.by_class:
            return accuracy
        none = x.new_zeros(x.shape[self.axis])
        hits, cases = (none.index_add(0, label.flatten(), each.flatten().to(x.dtype)) for each in (right, counted))
        return accuracy, _share(hits, cases)

    def onnx(self, g: OnnxGraph, x: str, label: str) -> str | tuple[str, str]:
        lengths = [g.length(x, axis) for axis in range(len(g.shape(x)))]
        lengths[self.axis] = 1
        label = reshaped(g, whole(g, label), *lengths)
        ignored = g.node("Equal", label, g.constant(-1 if self.ignore_label is None else self.ignore_label))
        counted = g.node("Not", ignored) if self.ignore_label is not None else g.constant(np.ones(lengths, bool))
        own = g.node("GatherElements", x, g.node("Where", counted, label, g.constant(0)), axis=self.axis)
        better = reduced(g, "ReduceSum", g.to_float(g.node("GreaterOrEqual", x, own)), [self.axis])
        right = g.node("And", g.node("Less", better, g.constant(self.top_k + 1.0)), counted)
        both = [g.to_float(reshaped(g, each, UNKNOWN, 1)) for each in (right, counted)]
        accuracy = _share_onnx(g, both, [0, 1])
        if not self.by_class:
            return accuracy
        classes = g.constant(np.arange(g.length(x, self.axis)))
        own = g.to_float(g.node("Equal", reshaped(g, label, UNKNOWN, 1), classes))
        return accuracy, _share_onnx(g, [g.node("Mul", own, each) for each in both], [0])


def _share(part: Tensor, whole: Tensor) -> Tensor:
    """Return a share. Caffe's rule: a share of nothing is 0."""
    return part / whole.clamp(min=1)


def _share_onnx(g: OnnxGraph, both: list[str], axes: list[int]) -> str:
    """Write `_share` for two tables, summed along axes, in ONNX operators."""
    hits, cases = (reduced(g, "ReduceSum", each, axes, keep=False) for each in both)
    return g.node("Div", hits, clamped(g, cases, 1, np.inf))
