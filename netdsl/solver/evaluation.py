"""Tests of nets: means over batches, and the scores of whole sets that a solver's `eval_type` requests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import SolverError
from netdsl.layer.tops import ComparesClasses, JudgesDetections
from netdsl.net.build import Built
from netdsl.scores.boxes import DetectedBoxes, ObjectBoxes
from netdsl.scores.coco import CocoScores, score_as_coco
from netdsl.scores.precision import JudgedDetections, PrecisionRule, PrecisionTable, precision_table
from netdsl.scores.segmentation import SegmentationScores, count_confusions
from netdsl.solver.events import BatchTested, LabelScore, Output
from netdsl.solver.trainable_net import TrainableNet


def average_batches(
    net: TrainableNet,
    batches: int,
    interrupted: Callable[[], bool] = lambda: False,
    listen: Callable[[BatchTested], object] | None = None,
) -> tuple[float, tuple[Output, ...]] | None:
    """Return the mean loss and the mean outputs over the next batches, or `None` if the test was interrupted.

    Leaves out outputs without a mean. These have a row for each detection, or differ in shape between batches. Calls
    `listen` with each batch's outputs.
    """
    sums: dict[str, Tensor] = {}
    losses: list[Tensor] = []
    without_mean = {
        net.built.graph.blobs[node.tops[0]] for node, layer in net.built.pairs() if isinstance(layer, JudgesDetections)
    }
    for batch in range(batches):
        if interrupted():
            return None
        losses.append(net.forward())
        outputs = {name: top.detach() for name, top in net.outputs().items() if name not in without_mean}
        without_mean.update(name for name in sums if sums[name].shape != outputs[name].shape)
        sums = {
            name: sums[name] + top if name in sums else top.clone()
            for name, top in outputs.items()
            if name not in without_mean
        }
        if listen is not None:
            listen(BatchTested(batch, outputs_of(net, net.outputs())))
    means = {name: total / batches for name, total in sums.items()}
    loss = sum(torch.stack(losses).tolist()) / batches if losses else 0.0  # waits for a GPU only once, at the end
    return loss, outputs_of(net, means)


def outputs_of(net: TrainableNet, tops: Mapping[str, Tensor]) -> tuple[Output, ...]:
    """Return the values of a net's outputs. Caffe's rule: they are sorted by name."""
    weights = net.loss_weights()
    return tuple(
        Output(name, tuple(top.detach().flatten().tolist()), weights.get(name, 0.0))
        for name, top in sorted(tops.items())
    )


@dataclass
class DetectionTest:
    """The detections of all batches that a layer judged. `blob` is the layer's top."""

    blob: str
    layer: JudgesDetections
    parts: list[JudgedDetections] = field(default_factory=list)
    boxes: list[tuple[DetectedBoxes, ObjectBoxes]] = field(default_factory=list)
    images: int = 0  # in the previous batches

    def record(self, layer: nn.Module, bottoms: tuple[Tensor, ...], top: Any) -> None:
        """Add the detections of a batch."""
        self.parts.append(self.layer.judged(_as_array(top)))
        boxes = self.layer.boxes([_as_array(bottom) for bottom in bottoms])
        if boxes is not None:
            detected, objects = boxes[0].after(self.images), boxes[1].after(self.images)
            self.boxes.append((detected, objects))
            numbers = np.concatenate([detected.image, objects.image])
            self.images = int(numbers.max(initial=self.images - 1)) + 1

    def table(self, rule: PrecisionRule) -> PrecisionTable:
        """Return the average precision of every class, based on the detections that the layer judges as correct."""
        return precision_table(JudgedDetections.join(self.parts), rule)

    def coco(self) -> CocoScores | None:
        """Return COCO's scores, but without those by object size. Returns `None` if the layer can't return the boxes it
        compared."""
        if not self.boxes:
            return None
        detected, objects = zip(*self.boxes, strict=True)
        return score_as_coco(DetectedBoxes.join(detected), ObjectBoxes.join(objects))


@dataclass
class SegmentationTest:
    """The confusion counts of classes over all batches. `blob` contains the scores of classes."""

    blob: str
    classes: int
    ignored: set[int]
    counts: NDArray[np.int64]

    def record(self, layer: nn.Module, bottoms: tuple[Tensor, ...], top: Any) -> None:
        """Count the predictions and labels of a batch."""
        scores, labels = bottoms[:2]
        predicted = scores.detach().argmax(1).cpu().numpy()
        self.counts += count_confusions(labels.cpu().numpy(), predicted, self.classes, self.ignored)

    @property
    def scores(self) -> SegmentationScores:
        """The scores over all batches."""
        return SegmentationScores(self.counts)


@dataclass(frozen=True)
class SetScores:
    """The scores that are gathered while a net is tested."""

    detections: tuple[DetectionTest, ...] = ()
    segmentations: tuple[SegmentationTest, ...] = ()


@contextmanager
def gather_scores(built: Built) -> Iterator[SetScores]:
    """Gather the scores of all batches on which the net runs. The net isn't compiled meanwhile, since compiled code
    doesn't call new hooks."""
    pairs = list(built.pairs())
    judging = [(built.graph.blobs[node.tops[0]], layer) for node, layer in pairs if isinstance(layer, JudgesDetections)]
    detections = [DetectionTest(blob, layer) for blob, layer in judging]
    with ExitStack() as stack:
        stack.enter_context(torch.compiler.set_stance("force_eager"))
        for test in detections:
            stack.callback(test.layer.register_forward_hook(test.record).remove)
        segmentations = _segmentation_tests(built, stack)
        yield SetScores(tuple(detections), segmentations)


def _segmentation_tests(built: Built, stack: ExitStack) -> tuple[SegmentationTest, ...]:
    """Return a test for each pair of scores and labels that layers compare. Listens only to the first layer of each
    pair."""
    tests: dict[Sequence[int], SegmentationTest] = {}
    for node, layer in built.pairs():
        if not (isinstance(layer, ComparesClasses) and _compares_pixels(built, node.bottoms, layer.axis)):
            continue
        key, classes = node.bottoms[:2], built.shapes[node.bottoms[0]][1]
        if key not in tests:
            counts = np.zeros((classes, classes), np.int64)
            tests[key] = SegmentationTest(built.graph.blobs[key[0]], classes, set(), counts)
            stack.callback(layer.register_forward_hook(tests[key].record).remove)
        tests[key].ignored.update(layer.ignored_labels())
    return tuple(tests.values())


def _compares_pixels(built: Built, bottoms: Sequence[int], axis: int) -> bool:
    """Return whether the scores have several classes at each of several positions of an image."""
    shape = built.shapes[bottoms[0]]
    return len(shape) == 4 and axis == 1 and shape[1] > 1 and math.prod(shape[2:]) > 1


def _as_array(blob: Tensor) -> NDArray[np.float64]:
    return np.asarray(blob.detach().double().cpu().numpy())


DETECTION, SEGMENTATION = "detection", "segmentation"
_EVAL_TYPES_OF_MEANS = ("", "classification")
_AP_VERSIONS = (
    PrecisionRule.SSD_11_POINTS,
    PrecisionRule.SSD_MAX_INTEGRAL,
    PrecisionRule.SSD_INTEGRAL,
    PrecisionRule.SSD_101_POINTS,
)


def asks_for_scores(param: pb.SolverParameter) -> bool:
    """Return whether tests compute scores of the whole set."""
    return param.eval_type in (DETECTION, SEGMENTATION)


def precision_rule(param: pb.SolverParameter) -> PrecisionRule:
    """Return the rule that `ap_version` names. Raises a `SolverError` if it names none."""
    for rule in _AP_VERSIONS:
        if rule.value == param.ap_version:
            return rule
    raise SolverError(
        f"ap_version is '{param.ap_version}'; set it to one of {', '.join(each.value for each in _AP_VERSIONS)}"
    )


def unsupported_scores(param: pb.SolverParameter, tests: Sequence[Built]) -> str:
    """Return a notice about requested scores that tests can't compute. Returns an empty string if they can compute
    them."""
    if param.eval_type in _EVAL_TYPES_OF_MEANS or not tests:
        return ""
    means = "tests report the means of the net's outputs over batches instead"
    if not asks_for_scores(param):
        return f"eval_type '{param.eval_type}' isn't supported; {means}"
    for test in tests:
        with gather_scores(test) as scores:
            if param.eval_type == DETECTION and not scores.detections:
                return f"eval_type is 'detection', but no layer of a test net judges detections; {means}"
            if param.eval_type == SEGMENTATION and not scores.segmentations:
                return f"eval_type is 'segmentation', but no layer of a test net compares classes of pixels; {means}"
    return ""


def scored_outputs(param: pb.SolverParameter, scores: SetScores) -> tuple[Output, ...]:
    """Return the requested scores, under the names that Caffe logs."""
    if param.eval_type == DETECTION:
        rule = precision_rule(param)
        return tuple(Output(test.blob, (test.table(rule).mean_in_caffe,), is_score=True) for test in scores.detections)
    return tuple(
        Output(name if len(scores.segmentations) == 1 else f"{test.blob} {name}", (value,), is_score=True)
        for test in scores.segmentations
        for name, value in _scores_in_caffe(test.scores)
        if value is not None
    )


def _scores_in_caffe(scores: SegmentationScores) -> Iterator[tuple[str, float | None]]:
    yield "per_pixel_acc", scores.pixel_accuracy
    yield "per_label_acc", scores.mean_accuracy
    yield "iou_acc", scores.labeled_iou
    yield "weighted_iou_acc", scores.weighted_iou


def label_scores(param: pb.SolverParameter, scores: SetScores) -> tuple[LabelScore, ...]:
    """Return the scores of the classes that occur. Returns an empty tuple without `show_per_class_result`."""
    if not param.show_per_class_result:
        return ()
    if param.eval_type == DETECTION:
        tables = [test.table(precision_rule(param)).classes for test in scores.detections]
        values = [(each.label, each.average) for table in tables for each in table]
    else:
        values = [(each.label, each.iou) for test in scores.segmentations for each in test.scores.by_class()]
    return tuple(LabelScore(label, value) for label, value in values if value is not None)
