"""The shared code of loss layers: normalization, labels and other indices, and the smooth L1 loss."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.locations import error_label
from netdsl.errors import LabelWarning, NetError, ShapeError
from netdsl.layer import HasOnnxForm, Loss, OnnxGraph, Shape, axis_of
from netdsl.layer.onnx_form import reduced, reshaped, scaled, whole
from netdsl.layer.running import can_be_read
from netdsl.layer.tops import ComparesClasses

_MORE_CLASSES = "give the first bottom more classes"
IGNORE = f"set it as ignore_label if it shouldn't count, or {_MORE_CLASSES}"
MORE_OUTPUTS = "raise num_output"
_CUT = "labels that aren't whole numbers are cut to whole ones, as in Caffe; write whole numbers if they are classes"
_BEYOND_INT = 2.0**31
Mode = pb.LossParameter.NormalizationMode
# Loss layers in these forks don't call the common setup of losses, so their loss_weight is 0 by default.
WEIGHTLESS = ("fast-rcnn", "faster-rcnn", "rfcn", "pvanet", "intel", "tsn", "happynear", "happynear-ms")


@dataclass(frozen=True)
class Normalizer:
    """The divisor of the sum of all losses. It is at least 1, so that a batch without labels has the loss 0."""

    mode: Mode
    fixed: float

    @classmethod
    def of(cls, p: pb.LossParameter, unset: Mode = pb.LossParameter.VALID) -> Normalizer:
        """Return the normalizer that the settings select.

        Caffe's rule: `normalization` comes first, then the older `normalize`, then the default of the type.
        """
        mode = unset
        if p.HasField("normalization"):
            mode = p.normalization
        elif p.HasField("normalize"):
            mode = pb.LossParameter.VALID if p.normalize else pb.LossParameter.BATCH_SIZE
        return cls(mode, p.pre_fixed_normalizer)

    def __call__(self, outer: int, inner: int, valid: Tensor | None = None) -> Tensor | float:
        """Return the divisor for `outer` items of `inner` labels.

        `valid` marks the labels that count; `None` means all.
        """
        if self.mode == pb.LossParameter.VALID and valid is not None:
            return valid.sum().clamp_min(1)
        known = {pb.LossParameter.BATCH_SIZE: outer, pb.LossParameter.NONE: 1, pb.LossParameter.PRE_FIXED: self.fixed}
        return max(1, known.get(self.mode, outer * inner))


def counted_onnx(g: OnnxGraph, values: str, valid: str | None) -> str:
    """Write `counted` in ONNX operators."""
    return values if valid is None else g.node("Where", valid, values, g.constant(0.0))


def normalized_onnx(
    g: OnnxGraph, losses: str, valid: str | None, normalizer: Normalizer, outer: int, inner: int
) -> str:
    """Write the normalized sum of all losses in ONNX operators.

    `valid` has the shape of the losses and marks those that count.
    """
    total = g.node("ReduceSum", losses, keepdims=0)
    if valid is not None and normalizer.mode == pb.LossParameter.VALID:
        count = g.node("ReduceSum", g.to_float(valid), keepdims=0)
        return g.node("Div", total, g.node("Max", count, g.constant(1.0)))
    return scaled(g, total, 1 / float(normalizer(outer, inner)))


class LabelLoss(Loss):
    """A loss that compares predictions with labels. The top is one number."""

    bottoms = (2, 2)
    no_gradient: ClassVar[tuple[int, ...]] = (1,)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        predictions, labels = bottoms[:2]
        if not predictions or predictions[:1] != labels[:1]:
            what = f"predictions have shape {list(predictions)}, labels {list(labels)}"
            raise ShapeError(
                f"the first axis, the batch, must have the same length in both bottoms, but {what}; give both "
                "the same batch size in their data layers"
            )

        p = layer.loss_param
        self.ignored = p.ignore_label if p.HasField("ignore_label") else None

    def valid(self, labels: Tensor) -> Tensor | None:
        """Return which labels count, or `None` if all do."""
        return None if self.ignored is None else labels != self.ignored

    def valid_onnx(self, g: OnnxGraph, labels: str) -> str | None:
        """Write `valid` for integer labels in ONNX operators."""
        return None if self.ignored is None else g.node("Not", g.node("Equal", labels, g.constant(self.ignored)))


class ClassLoss(LabelLoss, ComparesClasses, HasOnnxForm):
    """A loss on the softmax of predictions along an axis, with one label for each position.

    The second top is the softmax. Caffe doesn't propagate its gradient.
    """

    tops = (1, 2)
    deploys_as = "Softmax"

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape], axis: int) -> None:
        super().__init__(layer, bottoms)
        self.axis = axis_of(axis, len(bottoms[0]))
        self.normalizer = Normalizer.of(layer.loss_param)
        self.shows_softmax = len(layer.top) == 2
        self.check_places(bottoms)

    def ignored_labels(self) -> list[int]:
        return [] if self.ignored is None else [self.ignored]

    def check_places(self, bottoms: Sequence[Shape]) -> None:
        """Raise a `ShapeError` unless there is one label for each position."""
        places = math.prod(_without(bottoms[0], self.axis))
        if places != math.prod(bottoms[1]):
            what = f"predictions of shape {list(bottoms[0])} with classes on axis {self.axis}"
            raise ShapeError(
                f"{what} need {places} labels, but the other bottom has shape {list(bottoms[1])}; give the "
                "labels this many values with a Reshape layer or in their data"
            )

    def forward(self, x: Tensor, labels: Tensor, *more: Tensor) -> Tensor | tuple[Tensor, ...]:
        log, classes = self.log_and_classes(x, labels)
        loss = self.loss(log, classes, *more)
        return (loss, log.detach().exp()) if self.shows_softmax else loss

    def log_and_classes(self, x: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logarithms of all probabilities, and the labels as one class for each position."""
        return F.log_softmax(x, self.axis), classes_of(labels.reshape(_without(x.shape, self.axis)), self.layer)

    def loss(self, log: Tensor, classes: Tensor, *more: Tensor) -> Tensor:
        """Return the loss of the batch from the logarithms of all probabilities and the classes."""
        valid = self.valid(classes)
        return self.normalized(self.counted_losses(log, classes, valid, *more), valid, log.shape)

    def counted_losses(self, log: Tensor, classes: Tensor, valid: Tensor | None, *more: Tensor) -> Tensor:
        """Return the losses of all positions, with 0 for those that don't count."""
        return counted(self.losses(log, counted(classes, valid), *more), valid)

    def normalized(self, losses: Tensor, valid: Tensor | None, predictions: Shape) -> Tensor:
        """Return the sum of the losses over the normalizer's divisor."""
        outer, inner = math.prod(predictions[: self.axis]), math.prod(predictions[self.axis + 1 :])
        return losses.sum() / self.normalizer(outer, inner, valid)

    def onnx(self, g: OnnxGraph, x: str, labels: str, *more: str) -> tuple[str, ...]:
        loss, log, _ = self.evaluated_onnx(g, x, labels, *more)
        return (loss, g.node("Exp", log)) if self.shows_softmax else (loss,)

    def evaluated_onnx(self, g: OnnxGraph, x: str, labels: str, *more: str) -> tuple[str, str, str]:
        """Return the loss, the logarithms of the probabilities and the losses of all positions before normalization.

        The batch size is fixed in the graph.
        """
        lengths = [g.length(x, axis) for axis in range(len(g.shape(x)))]
        log = g.node("LogSoftmax", x, axis=self.axis)
        classes = reshaped(g, whole(g, labels), *_without(tuple(lengths), self.axis))
        valid = self.valid_onnx(g, classes)
        safe = classes if valid is None else g.node("Where", valid, classes, g.constant(0))
        outer, inner = math.prod(lengths[: self.axis]), math.prod(lengths[self.axis + 1 :])
        losses = counted_onnx(g, self.losses_onnx(g, log, safe, *more), valid)
        return normalized_onnx(g, losses, valid, self.normalizer, outer, inner), log, losses

    def losses_onnx(self, g: OnnxGraph, log: str, classes: str, *more: str) -> str:
        """Write `losses` in ONNX operators."""
        raise NotImplementedError

    def losses(self, log: Tensor, classes: Tensor, *more: Tensor) -> Tensor:
        """Return the loss of each position from the logarithms of its probabilities and its class."""
        raise NotImplementedError


def _without(shape: Shape, axis: int) -> Shape:
    return (*shape[:axis], *shape[axis + 1 :])


def check_one_label_each(bottoms: Sequence[Shape]) -> None:
    """Raise a `ShapeError` unless the second bottom has one value for each item of the first."""
    predictions, labels = bottoms[:2]
    if math.prod(labels) != predictions[0]:
        raise ShapeError(
            f"there must be one label for each of {predictions[0]} items, but the labels have shape "
            f"{list(labels)}; give one label for each item"
        )


def counted(values: Tensor, valid: Tensor | None) -> Tensor:
    """Return the values, with 0 for those that don't count."""
    return values if valid is None else values.where(valid, 0)


class _CutOff(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, least: float, most: float) -> Tensor:
        return values.clamp(least, most)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return gradients[0], None, None


def cut_off(values: Tensor, least: float = -math.inf, most: float = math.inf) -> Tensor:
    """Return the values clamped between two bounds. As in Caffe, the gradient passes unchanged even outside the
    bounds."""
    if can_be_read(values) and _all_within(values, least, most):  # checking the values is faster than autograd
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
    """Return a loss whose gradient is the given one, because the fork's gradient isn't that of its loss."""
    result: Tensor = _Stated.apply(x, loss, gradient)  # type: ignore[no-untyped-call]
    return result


def smooth_l1(difference: Tensor, sigma: float = 1) -> Tensor:
    """Return the smooth L1 loss: (sigma d)² / 2 where |d| < 1 / sigma², and |d| - 1 / (2 sigma²) elsewhere."""
    return F.smooth_l1_loss(difference, torch.zeros_like(difference), reduction="none", beta=1 / sigma**2)


def smooth_l1_onnx(g: OnnxGraph, difference: str, sigma: float) -> str:
    """Write `smooth_l1` in ONNX operators."""
    size, square = g.node("Abs", difference), g.node("Mul", difference, difference)
    near = g.node("Less", size, g.constant(1 / sigma**2))
    return g.node("Where", near, scaled(g, square, sigma**2 / 2), scaled(g, size, 1, -0.5 / sigma**2))


class _Weighed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, weights: Tensor) -> Tensor:
        return values * weights

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0], None


def weighed(values: Tensor, weights: Tensor) -> Tensor:
    """Return values times weights. As in Caffe, the backward pass ignores the weights."""
    result: Tensor = _Weighed.apply(values, weights)  # type: ignore[no-untyped-call]
    return result


def check_alike(bottoms: Sequence[Shape]) -> None:
    """Raise a `ShapeError` unless all bottoms have the same shape. Caffe's rule: missing axes have length 1."""
    axes = max(len(shape) for shape in bottoms)
    full = [(*shape, *(1,) * (axes - len(shape))) for shape in bottoms]
    for shape, other in zip(full, bottoms, strict=True):
        if shape != full[0]:
            raise ShapeError(
                f"all bottoms must have the same shape, not {list(bottoms[0])} and {list(other)}; connect bottoms "
                "of one shape"
            )


def over_channels(losses: Tensor) -> Tensor:
    """Return the losses summed over channels. Caffe's rule: missing axes have length 1."""
    return losses.reshape(*losses.shape, *(1,) * (4 - losses.dim())).sum(1, keepdim=True)


def over_channels_onnx(g: OnnxGraph, losses: str, lengths: Sequence[int]) -> str:
    """Write `over_channels` in ONNX operators."""
    return reduced(g, "ReduceSum", reshaped(g, losses, *lengths, *(1,) * (4 - len(lengths))), [1])


def classes_of(labels: Tensor, layer: pb.LayerParameter) -> Tensor:
    """Return a layer's labels as whole numbers.

    Caffe's rule: fractions are cut off. A warning reports it. Raises a `NetError` if a label, such as NaN, doesn't fit
    into an int.
    """
    classes = labels.long()
    if labels.is_floating_point() and can_be_read(labels):
        if not _all_within(labels, -_BEYOND_INT, _BEYOND_INT):
            _refuse_numbers(
                labels, ~(labels.abs() < _BEYOND_INT), "label", "isn't a class because it doesn't fit into an int", ""
            )
        if not torch.equal(classes.to(labels.dtype), labels):
            warnings.warn(f"{error_label(layer)}: {_CUT}", LabelWarning, stacklevel=2)
    return classes


def within(classes: Tensor, count: int, advice: str = _MORE_CLASSES) -> Tensor:
    """Return the classes unchanged. Raises a `NetError`, which contains the advice, if one isn't below `count`."""
    _check_range(classes, count, "label", "classes", advice)
    return classes


def of_class(values: Tensor, axis: int, classes: Tensor, advice: str = _MORE_CLASSES) -> Tensor:
    """Return the values of the given classes along an axis. Raises a `NetError` if a label isn't one of the classes."""
    return values.gather(axis, within(classes, values.shape[axis], advice))


def indices_of(bottom: Tensor, count: int, what: str, advice: str) -> Tensor:
    """Return indices as whole numbers.

    Raises a `NetError` if one isn't whole or isn't below `count`. `what` is the plural of the indexed objects.
    """
    indices = bottom.long()
    if bottom.is_floating_point() and can_be_read(bottom):
        _refuse_numbers(bottom, indices != bottom, "index", "isn't an index because it isn't a whole number", "")
    _check_range(indices, count, "index", what, advice)
    return indices


def _check_range(numbers: Tensor, count: int, name: str, what: str, advice: str) -> None:
    range_ = f"isn't among the {count} {what}, which are 0 to {count - 1}"
    if can_be_read(numbers):
        if not _all_within(numbers, -1, count):
            _refuse_numbers(numbers, (numbers < 0) | (numbers >= count), name, range_, advice)
    elif (
        numbers.is_cuda and not torch.compiler.is_compiling()
    ):  # the GPU stops when it reaches this check; the program doesn't wait for it
        torch._assert_async(((numbers >= 0) & (numbers < count)).all(), f"{name} {range_}")


def _all_within(values: Tensor, below: float, above: float) -> bool:
    """Return whether all values are strictly between two bounds, in one pass. NaN isn't."""
    if not values.numel():
        return True
    least, most = values.aminmax()
    return below < least.item() and most.item() < above


def _refuse_numbers(values: Tensor, wrong: Tensor, name: str, what: str, advice: str) -> None:
    if wrong.any():
        place = wrong.nonzero()[0].tolist()
        value = values[tuple(place)].item()
        plural = {"label": "labels", "index": "indices"}[name]
        raise NetError(
            f"{name} {value:.6g} {what}; it is at {place} of the {plural}: change it{advice and f', or {advice}'}"
        )
