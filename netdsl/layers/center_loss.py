"""CenterLoss: the distance of features from the center of their class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape, axis_of, new_blob, positive
from netdsl.layer.onnx_form import UNKNOWN, reshaped, scaled, whole
from netdsl.layer.tops import Meaning, ShowsMeaning
from netdsl.layers._loss import MORE_OUTPUTS, LabelLoss, check_one_label_each, classes_of, within

_DOUBT = "CenterLoss is assumed to be caffe-face's; happynear's moves a center by the full step for each of its items"


class CenterLoss(LabelLoss, HasOnnxForm, ShowsMeaning):
    """Computes half the mean squared distance between items and the centers of their classes.

    With happynear's `distance_type: "L1"`, it is the mean absolute distance instead. The centers don't follow the
    gradient of the loss. Each moves to the mean of its items and its current place, whatever the loss_weight is. In
    happynear's Caffe, it moves by that step for each of these items. Without a `loss_weight`, the weight is 0.
    """

    meaning = Meaning.EMBEDDING
    config = pb.CenterLossParameter
    blobs = ("centers",)
    unset_weight = 0.0

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        check_one_label_each(bottoms)
        p = layer.center_loss_param
        if p.distance_type not in ("L1", "L2"):
            raise NetError(f"distance_type is '{p.distance_type}'; set it to L1 or L2")
        self.absolute = p.distance_type == "L1"
        axis = axis_of(p.axis, len(bottoms[0]))
        if math.prod(bottoms[0][:axis]) != bottoms[0][0]:
            raise ShapeError(
                f"axis {p.axis} of the bottom {list(bottoms[0])} leaves more than one vector for each item; lower axis"
            )
        length = math.prod(bottoms[0][axis:])
        self.centers = new_blob(p.center_filler, (positive(p, "num_output"), length))
        happynear = dict.fromkeys(("happynear", "happynear-ms"), True)
        self.steps_by_count = self.by_dialect(happynear, False, _DOUBT)

    def forward(self, x: Tensor, labels: Tensor) -> Tensor:
        classes = within(classes_of(labels.reshape(-1), self.layer), len(self.centers), MORE_OUTPUTS)
        settings = self.absolute, self.steps_by_count
        distances = _Distances.apply(x.flatten(1), self.centers, classes, *settings)  # type: ignore[no-untyped-call]
        total: Tensor = distances.abs().sum() if self.absolute else distances.square().sum() / 2
        return total / len(x)

    def onnx(self, g: OnnxGraph, x: str, labels: str) -> str:
        classes = reshaped(g, whole(g, labels), UNKNOWN)
        centers = g.node("Gather", g.blob(self, "centers"), classes, axis=0)
        distances = g.node("Sub", reshaped(g, x, UNKNOWN, self.centers.shape[1]), centers)
        op, share = ("ReduceL1", 1.0) if self.absolute else ("ReduceSumSquare", 0.5)
        return scaled(g, g.node(op, distances, keepdims=0), share / g.length(x, 0))


class _Distances(torch.autograd.Function):
    """Computes items minus the centers of their classes.

    The centers' gradient ignores the gradient from above, as in caffe-face.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, centers: Tensor, classes: Tensor, absolute: bool, steps_by_count: bool) -> Tensor:
        distances = x - centers[classes]
        ctx.save_for_backward(distances, classes)
        ctx.centers, ctx.absolute, ctx.steps_by_count = len(centers), absolute, steps_by_count
        return distances

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        distances, classes = ctx.saved_tensors
        steps = distances.sign() if ctx.absolute else distances
        sums = steps.new_zeros(ctx.centers, steps.shape[1]).index_add(0, classes, steps)
        counts = classes.new_zeros(ctx.centers).index_add(0, classes, torch.ones_like(classes))[:, None]
        share = (counts if ctx.steps_by_count else 1) / (counts + 1)
        return gradients[0], -sums * share, None, None, None
