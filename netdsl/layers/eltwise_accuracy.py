"""EltwiseAccuracy: DeconvNet's share of correctly classified pixels."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import Shape
from netdsl.layer.tops import ComparesClasses
from netdsl.layers._loss import classes_of, of_class


class EltwiseAccuracy(ComparesClasses):
    """Computes the share of pixels whose label is among the `top_k` best classes.

    Among equal scores, the last class ranks first. If no label counts, the result is NaN.
    """

    config = pb.EltwiseAccuracyParameter
    bottoms = (2, 2)
    no_gradient = (0, 1)
    predictions = (0,)
    axis = 1

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.eltwise_accuracy_param
        self.top_k, self.ignored = p.top_k, p.ignore_label if p.HasField("ignore_label") else None
        self.top_shapes(bottoms)

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        scores, labels = bottoms
        if len(scores) != 4 or labels != (scores[0], 1, *scores[2:]):
            raise ShapeError(
                f"there must be one label for each pixel of {list(scores)}, but the other bottom has shape "
                f"{list(labels)}; connect a map of labels with the size of the scores"
            )
        if self.top_k > scores[1]:
            raise ShapeError(f"top_k {self.top_k} is more than the {scores[1]} classes; lower top_k")
        return [(1, 1, 1, 1)]

    def ignored_labels(self) -> list[int]:
        return [] if self.ignored is None else [self.ignored]

    def forward(self, x: Tensor, label: Tensor) -> Tensor:
        label = classes_of(label, self.layer)
        counted = torch.ones_like(label, dtype=torch.bool) if self.ignored is None else label != self.ignored
        label = torch.where(counted, label, 0)
        score, later = of_class(x, 1, label), torch.arange(x.shape[1], device=x.device).view(-1, 1, 1) > label
        better = ((x > score) | ((x == score) & later)).sum(1, keepdim=True)
        right = (better < self.top_k) & counted
        return (right.sum().to(x.dtype) / counted.sum()).view(1, 1, 1, 1)
