"""SegAccuracy: the accuracy of a segmentation's pixels."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import Shape
from netdsl.layer.running import can_be_read
from netdsl.layer.tops import ComparesClasses
from netdsl.layers._loss import classes_of


class SegAccuracy(ComparesClasses):
    """Computes accuracy, the mean recall of the labeled classes, and the mean intersection over union of all classes.

    With `reset: false`, pixels are counted from the first batch on. A class that is neither labeled nor predicted has
    an intersection over union of 1.
    """

    config = pb.SegAccuracyParameter
    bottoms = (2, 2)
    no_gradient = (0, 1)
    predictions = (0,)
    axis = 1
    counts: Tensor

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p, (x, label) = layer.seg_accuracy_param, bottoms
        if len(x) != 4 or label not in ((x[0], 1, *x[2:]), (x[0], *x[2:])):
            raise ShapeError(
                f"there must be one label for each pixel, but the shapes are {list(x)} and {list(label)}; "
                "connect a map of labels with the size of the predictions"
            )
        self.reset, self.ignored = p.reset, list(p.ignore_label)
        self.register_buffer("counts", torch.zeros(x[1], x[1], dtype=torch.float64), persistent=False)

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        return [(1, 1, 1, 3)]

    def ignored_labels(self) -> list[int]:
        return self.ignored

    def forward(self, x: Tensor, label: Tensor) -> Tensor:
        batch_counts, counts = self._counted(x, label), self.counts
        if self.reset:
            counts.zero_()
        counts += batch_counts
        hits, labeled, predicted = counts.diagonal(), counts.sum(1), counts.sum(0)
        either = labeled + predicted - hits
        recall = (hits / labeled.clamp_min(1)).sum() / (labeled > 0).sum().clamp_min(1)
        overlap = torch.where(either > 0, hits / either.clamp_min(1), 1.0).mean()
        accuracy = hits.sum() / counts.sum().clamp_min(1)
        return torch.stack([accuracy, recall, overlap]).to(x.dtype).view(1, 1, 1, 3)

    def _counted(self, x: Tensor, label: Tensor) -> Tensor:
        """Return the number of pixels for each pair of true and predicted class.

        Caffe's rule: the last of equal scores wins.
        """
        classes = x.shape[1]
        best = classes - 1 - x.flip(1).argmax(1).flatten()
        labels = classes_of(label, self.layer).flatten()
        counted = torch.ones_like(labels, dtype=torch.bool)
        for ignored in self.ignored:
            counted &= labels != ignored
        wrong = counted & ((labels < 0) | (labels >= classes))
        if can_be_read(labels) and bool(wrong.any()):
            first = int(labels[wrong][0])
            raise NetError(
                f"label {first} isn't among the {classes} classes; set it as ignore_label, or write a label "
                f"from 0 to {classes - 1} into the map"
            )
        pairs = (labels * classes + best).where(counted, 0)
        return labels.new_zeros(classes**2).index_add(0, pairs, counted.to(labels)).view(classes, classes)
