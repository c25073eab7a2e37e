"""SmoothL1Loss: the loss of Fast R-CNN's box regression."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import reshaped
from netdsl.layer.tops import Meaning, ShowsMeaning
from netdsl.layers._loss import (
    WEIGHTLESS,
    LabelLoss,
    Normalizer,
    check_alike,
    normalized_onnx,
    over_channels,
    over_channels_onnx,
    smooth_l1,
    smooth_l1_onnx,
    weighed,
)

_DOUBT_OF_WEIGHT = "the default loss_weight is assumed to be 1, as in SSD; it is 0 in Faster R-CNN and other forks"
_DOUBT_OF_NONE = (
    "normalization: NONE is assumed to have no effect, as in most forks; in Intel's, losses aren't divided then"
)


class SmoothL1Loss(LabelLoss, HasOnnxForm, ShowsMeaning):
    """Computes the smooth L1 loss of the differences of two bottoms, divided by the batch size.

    A third bottom weights the differences and a fourth the losses. Caffe's rule: without the fourth, the gradient
    ignores the third, unless `abssum: false` is set. R-FCN's first version has a second top, the sums over channels,
    which gets no gradient. That version normalizes like SmoothL1LossOHEM. With Intel's `normalization: NONE`, the sum
    isn't divided. Other forks ignore this setting. The default `loss_weight` is 1, but 0 in forks of Faster R-CNN.
    """

    meaning = Meaning.VALUES
    config = pb.SmoothL1LossParameter
    bottoms = (2, 4)
    tops = (1, 2)
    no_gradient = (2, 3)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        check_alike(bottoms)
        p = layer.smooth_l1_loss_param
        self.sigma, self.absolute = p.sigma, p.HasField("abssum") and p.abssum
        self.weighs_gradient = len(bottoms) > 3 or (p.HasField("abssum") and not p.abssum)
        self.normalizer = self._normalizer(layer.loss_param)
        if not layer.loss_weight:
            self.unset_weight = self.by_dialect(dict.fromkeys(WEIGHTLESS, 0.0), 1.0, _DOUBT_OF_WEIGHT)
        if self.sigma <= 0:
            raise NetError(f"sigma is {self.sigma:g}; set it to more than 0")

    def _normalizer(self, p: pb.LossParameter) -> Normalizer:
        rules = {}
        if p.normalization == pb.LossParameter.NONE:
            rules["intel"] = Normalizer(pb.LossParameter.NONE, 1)
        if len(self.layer.bottom) == 3 or len(self.layer.top) == 2:
            rules["rfcn"] = Normalizer.of(p)
        return self.by_dialect(
            rules, Normalizer(pb.LossParameter.BATCH_SIZE, 1), _DOUBT_OF_NONE if "intel" in rules else ""
        )

    def forward(
        self, x: Tensor, target: Tensor, inside: Tensor | None = None, outside: Tensor | None = None
    ) -> Tensor | tuple[Tensor, Tensor]:
        difference = x - target.reshape(x.shape)
        if inside is not None:
            inside = inside.reshape(x.shape)
            difference = difference * inside if self.weighs_gradient else weighed(difference, inside)
        losses = smooth_l1(difference, self.sigma)
        losses = losses if outside is None else losses * outside.reshape(x.shape)
        total = losses + (losses.abs() - losses).detach() if self.absolute else losses
        loss = total.sum() / self.normalizer(len(x), x[0, 0].numel() if x.dim() > 1 else 1)
        return loss if len(self.layer.top) < 2 else (loss, over_channels(losses.detach()))

    def onnx(self, g: OnnxGraph, x: str, target: str, inside: str = "", outside: str = "") -> tuple[str, ...]:
        lengths = [g.length(x, axis) for axis in range(len(g.shape(x)))]
        difference = g.node("Sub", x, reshaped(g, target, *lengths))
        difference = g.node("Mul", difference, reshaped(g, inside, *lengths)) if inside else difference
        losses = smooth_l1_onnx(g, difference, self.sigma)
        losses = g.node("Mul", losses, reshaped(g, outside, *lengths)) if outside else losses
        total = g.node("Abs", losses) if self.absolute else losses
        loss = normalized_onnx(g, total, None, self.normalizer, lengths[0], math.prod(lengths[2:]))
        return (loss,) if len(self.layer.top) < 2 else (loss, over_channels_onnx(g, losses, lengths))
