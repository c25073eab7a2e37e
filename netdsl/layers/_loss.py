"""What loss layers share: their counts, their normalisation, labels that don't count."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import HasOnnxForm, Loss, OnnxGraph, Shape, axis_of
from netdsl.layer.measuring import ComparesClasses
from netdsl.layer.onnx_form import reshaped, scaled, whole
from netdsl.layer.running import can_be_read
from netdsl.layers._labels import all_within, classes_of

Mode = pb.LossParameter.NormalizationMode


@dataclass(frozen=True)
class Normaliser:
    """What the sum of all losses is divided by; never less than 1, so that a batch without labels gives 0."""

    mode: Mode
    fixed: float

    @classmethod
    def of(cls, p: pb.LossParameter, unset: Mode = pb.LossParameter.VALID) -> Normaliser:
        """Caffe's rule: `normalization` first, then the old `normalize`, then what the type does if neither is set."""
        mode = unset
        if p.HasField("normalization"):
            mode = p.normalization
        elif p.HasField("normalize"):
            mode = pb.LossParameter.VALID if p.normalize else pb.LossParameter.BATCH_SIZE
        return cls(mode, p.pre_fixed_normalizer)

    def __call__(self, outer: int, inner: int, valid: Tensor | None = None) -> Tensor | float:
        """For `outer` items of `inner` labels; `valid` says which of these count, if not all do."""
        if self.mode == pb.LossParameter.VALID and valid is not None:
            return valid.sum().clamp_min(1)
        known = {pb.LossParameter.BATCH_SIZE: outer, pb.LossParameter.NONE: 1, pb.LossParameter.PRE_FIXED: self.fixed}
        return max(1, known.get(self.mode, outer * inner))


def counted_onnx(g: OnnxGraph, values: str, valid: str | None) -> str:
    """`counted`, told to an ONNX graph."""
    return values if valid is None else g.node("Where", valid, values, g.constant(0.0))


def normalised_onnx(
    g: OnnxGraph, losses: str, valid: str | None, normaliser: Normaliser, outer: int, inner: int
) -> str:
    """The sum of all losses over what a normaliser says; `valid`, of the same shape, says which count."""
    total = g.node("ReduceSum", losses, keepdims=0)
    if valid is not None and normaliser.mode == pb.LossParameter.VALID:
        count = g.node("ReduceSum", g.to_float(valid), keepdims=0)
        return g.node("Div", total, g.node("Max", count, g.constant(1.0)))
    return scaled(g, total, 1 / float(normaliser(outer, inner)))


class LabelLoss(Loss):
    """Compares predictions with labels; the top is one number."""

    bottoms = (2, 2)
    no_gradient: ClassVar[tuple[int, ...]] = (1,)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        predictions, labels = bottoms[:2]
        if not predictions or predictions[:1] != labels[:1]:
            what = f"predictions have shape {list(predictions)}, labels {list(labels)}"
            raise ShapeError(f"the first axis, the batch, must be as long in both bottoms; {what}")

        p = layer.loss_param
        self.ignored = p.ignore_label if p.HasField("ignore_label") else None

    def valid(self, labels: Tensor) -> Tensor | None:
        """Which labels count, or None if all do."""
        return None if self.ignored is None else labels != self.ignored

    def valid_onnx(self, g: OnnxGraph, labels: str) -> str | None:
        """The same of whole numbers, told to an ONNX graph."""
        return None if self.ignored is None else g.node("Not", g.node("Equal", labels, g.constant(self.ignored)))


class ClassLoss(LabelLoss, ComparesClasses, HasOnnxForm):
    """A loss on the softmax of predictions along an axis, with a label for each place.

    The second top is the softmax; Caffe gives it no gradient.
    """

    tops = (1, 2)
    deploys_as = "Softmax"

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape], axis: int) -> None:
        super().__init__(layer, bottoms)
        self.axis = axis_of(axis, len(bottoms[0]))
        self.normaliser = Normaliser.of(layer.loss_param)
        self.shows_softmax = len(layer.top) == 2
        self.check_places(bottoms)

    def ignored_labels(self) -> list[int]:
        return [] if self.ignored is None else [self.ignored]

    def check_places(self, bottoms: Sequence[Shape]) -> None:
        """Raise a ShapeError unless there is a label for each place."""
        places = math.prod(_without(bottoms[0], self.axis))
        if places != math.prod(bottoms[1]):
            what = f"predictions of shape {list(bottoms[0])} with classes on axis {self.axis}"
            raise ShapeError(f"{what} need {places} labels, the other bottom has {list(bottoms[1])}")

    def forward(self, x: Tensor, labels: Tensor, *more: Tensor) -> Tensor | tuple[Tensor, ...]:
        log, classes = self.log_and_classes(x, labels)
        loss = self.loss(log, classes, *more)
        return (loss, log.detach().exp()) if self.shows_softmax else loss

    def log_and_classes(self, x: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """The logarithms of all probabilities, and the labels as classes, one for each place."""
        return F.log_softmax(x, self.axis), classes_of(labels.reshape(_without(x.shape, self.axis)), self.layer)

    def loss(self, log: Tensor, classes: Tensor, *more: Tensor) -> Tensor:
        """The loss of the batch, from the logarithms of all probabilities and the classes."""
        valid = self.valid(classes)
        return self.normalised(self.counted_losses(log, classes, valid, *more), valid, log.shape)

    def counted_losses(self, log: Tensor, classes: Tensor, valid: Tensor | None, *more: Tensor) -> Tensor:
        """The losses of all places, with 0 for those that don't count."""
        return counted(self.losses(log, counted(classes, valid), *more), valid)

    def normalised(self, losses: Tensor, valid: Tensor | None, predictions: Shape) -> Tensor:
        """The sum of the losses over what the normaliser says."""
        outer, inner = math.prod(predictions[: self.axis]), math.prod(predictions[self.axis + 1 :])
        return losses.sum() / self.normaliser(outer, inner, valid)

    def onnx(self, g: OnnxGraph, x: str, labels: str, *more: str) -> tuple[str, ...]:
        loss, log, _ = self.evaluated_onnx(g, x, labels, *more)
        return (loss, g.node("Exp", log)) if self.shows_softmax else (loss,)

    def evaluated_onnx(self, g: OnnxGraph, x: str, labels: str, *more: str) -> tuple[str, str, str]:
        """The loss, the logarithms of the probabilities and the losses of all places, before they are normalised.

        The batch that they are for is of a fixed size.
        """
        lengths = [g.length(x, axis) for axis in range(len(g.shape(x)))]
        log = g.node("LogSoftmax", x, axis=self.axis)
        classes = reshaped(g, whole(g, labels), *_without(tuple(lengths), self.axis))
        valid = self.valid_onnx(g, classes)
        safe = classes if valid is None else g.node("Where", valid, classes, g.constant(0))
        outer, inner = math.prod(lengths[: self.axis]), math.prod(lengths[self.axis + 1 :])
        losses = counted_onnx(g, self.losses_onnx(g, log, safe, *more), valid)
        return normalised_onnx(g, losses, valid, self.normaliser, outer, inner), log, losses

    def losses_onnx(self, g: OnnxGraph, log: str, classes: str, *more: str) -> str:
        """`losses`, told to an ONNX graph."""
        raise NotImplementedError

    def losses(self, log: Tensor, classes: Tensor, *more: Tensor) -> Tensor:
        """The loss of every place, from the logarithms of its probabilities and its class."""
        raise NotImplementedError


def _without(shape: Shape, axis: int) -> Shape:
    return (*shape[:axis], *shape[axis + 1 :])


def check_one_label_each(bottoms: Sequence[Shape]) -> None:
    """A ShapeError unless the second bottom has one value for each item of the first."""
    predictions, labels = bottoms[:2]
    if math.prod(labels) != predictions[0]:
        raise ShapeError(f"needs one label for each of {predictions[0]} items, the labels have shape {list(labels)}")


def counted(values: Tensor, valid: Tensor | None) -> Tensor:
    """The values, with 0 for those that don't count."""
    return values if valid is None else values.where(valid, 0)


class _CutOff(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, least: float, most: float) -> Tensor:
        return values.clamp(least, most)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return gradients[0], None, None


def cut_off(values: Tensor, least: float = -math.inf, most: float = math.inf) -> Tensor:
    """Values between bounds, whose gradients pass everywhere: Caffe cuts off the values, but not the gradients."""
    if can_be_read(values) and all_within(values, least, most):  # a look is quicker than autograd
        return values
    result: Tensor = _CutOff.apply(values, least, most)  # type: ignore[no-untyped-call]
    return result


class _Stated(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, loss: Tensor, gradient: Tensor) -> Tensor:
        ctx.save_for_backward(gradient)
        return loss.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return grads[0] * gradient, None, None


def stated(x: Tensor, loss: Tensor, gradient: Tensor) -> Tensor:
    """A loss with the gradient that a fork sends back, which isn't that of the loss."""
    result: Tensor = _Stated.apply(x, loss, gradient)  # type: ignore[no-untyped-call]
    return result
