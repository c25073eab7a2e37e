"""ContrastiveLoss: a loss that pulls similar pairs together and pushes other pairs apart up to a margin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import reduced, reshaped, scaled, whole
from netdsl.layer.tops import Meaning, ShowsMeaning
from netdsl.layers._loss import LabelLoss


class ContrastiveLoss(LabelLoss, HasOnnxForm, ShowsMeaning):
    """Computes the mean of d^2 / 2 for similar pairs and max(margin - d, 0)^2 / 2 for other pairs with the distance d.

    The legacy version has max(margin - d^2, 0) / 2 for other pairs.
    """

    meaning = Meaning.EMBEDDING
    config = pb.ContrastiveLossParameter
    bottoms = (3, 3)
    no_gradient = (2,)
    predictions = (0, 1)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.contrastive_loss_param
        self.margin, self.legacy = p.margin, p.legacy_version
        pair_shape = (bottoms[0][0], math.prod(bottoms[0][1:2]))
        for shape, size in zip(bottoms, (math.prod(pair_shape), math.prod(pair_shape), pair_shape[0]), strict=True):
            if math.prod(shape) != size or shape[:1] != pair_shape[:1]:
                shapes = ", ".join(str(list(shape)) for shape in bottoms)
                raise ShapeError(
                    f"the bottoms must be two of shape N x C and one of N, but their shapes are {shapes}; "
                    "connect the features of both items and the label of the pair"
                )

    def forward(self, a: Tensor, b: Tensor, similar: Tensor) -> Tensor:
        near = similar.reshape(len(a), 1).long() != 0
        loss: Tensor = _Contrast.apply(a.flatten(1), b.flatten(1), near, self.margin, self.legacy)  # type: ignore[no-untyped-call]
        return loss

    def onnx(self, g: OnnxGraph, a: str, b: str, similar: str) -> str:
        items = g.length(a, 0)
        near = g.node("Cast", reshaped(g, whole(g, similar), items, 1), to=9)
        difference = g.node("Sub", *(g.node("Flatten", each) for each in (a, b)))
        squares = reduced(g, "ReduceSumSquare", difference, [1])
        missing = g.node("Relu", scaled(g, squares if self.legacy else g.node("Sqrt", squares), -1, self.margin))
        far = missing if self.legacy else g.node("Mul", missing, missing)
        return scaled(g, g.node("ReduceSum", g.node("Where", near, squares, far), keepdims=0), 1 / (2 * items))


class _Contrast(torch.autograd.Function):
    """Computes the loss with Caffe's own gradient, which adds 1e-4 to a distance before dividing by it."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, near: Tensor, margin: float, legacy: bool) -> Tensor:
        difference = a - b
        squares = difference.square().sum(1, keepdim=True)
        distances = squares.sqrt()
        missing = margin - (squares if legacy else distances)
        pull = 1.0 if legacy else missing / (distances + 1e-4)
        ctx.save_for_backward(difference * torch.where(near, 1.0, torch.where(missing > 0, -pull, 0.0)) / len(a))
        short = missing.clamp_min(0)
        return torch.where(near, squares, short if legacy else short.square()).sum() / (2 * len(a))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        (gradient,) = ctx.saved_tensors
        gradient = gradients[0] * gradient
        return gradient, -gradient, None, None, None
