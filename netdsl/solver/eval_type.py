"""What a solver's `eval_type` asks tests for, as Caffe-SSD's and ParseNet's solvers have it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import SolverError
from netdsl.net.build import Built
from netdsl.scores.precision import PrecisionRule
from netdsl.scores.segmentation import SegmentationScores
from netdsl.solver.events import LabelScore, Output
from netdsl.solver.set_scores import SetScores, gather_scores

DETECTION, SEGMENTATION = "detection", "segmentation"
_MEANS = ("", "classification")
_RULES = (
    PrecisionRule.SSD_11_POINTS,
    PrecisionRule.SSD_MAX_INTEGRAL,
    PrecisionRule.SSD_INTEGRAL,
    PrecisionRule.SSD_101_POINTS,
)


def asks_for_scores(param: pb.SolverParameter) -> bool:
    """Whether tests give scores of the whole set."""
    return param.eval_type in (DETECTION, SEGMENTATION)


def precision_rule(param: pb.SolverParameter) -> PrecisionRule:
    """What `ap_version` says; a SolverError if it is no version."""
    for rule in _RULES:
        if rule.value == param.ap_version:
            return rule
    raise SolverError(
        f"ap_version is '{param.ap_version}'; it must be one of {', '.join(each.value for each in _RULES)}"
    )


def unsupported_scores(param: pb.SolverParameter, tests: Sequence[Built]) -> str:
    """What a user should know of the scores that the settings ask for; empty if tests give them."""
    if param.eval_type in _MEANS or not tests:
        return ""
    means = "tests give the means of the net's outputs over batches instead"
    if not asks_for_scores(param):
        return f"eval_type is '{param.eval_type}', a score that isn't known here; {means}"
    for test in tests:
        with gather_scores(test) as scores:
            if param.eval_type == DETECTION and not scores.detections:
                return f"eval_type is 'detection', and no layer of a test net says which detections are right; {means}"
            if param.eval_type == SEGMENTATION and not scores.segmentations:
                return f"eval_type is 'segmentation', and no layer of a test net compares classes of pixels; {means}"
    return ""


def scored_outputs(param: pb.SolverParameter, scores: SetScores) -> tuple[Output, ...]:
    """The scores that the settings ask for, with the names that Caffe logs."""
    if param.eval_type == DETECTION:
        rule = precision_rule(param)
        return tuple(Output(test.blob, (test.table(rule).mean_in_caffe,), is_score=True) for test in scores.detections)
    return tuple(
        Output(name if len(scores.segmentations) == 1 else f"{test.blob} {name}", (value,), is_score=True)
        for test in scores.segmentations
        for name, value in _shares(test.scores)
        if value is not None
    )


def _shares(scores: SegmentationScores) -> Iterator[tuple[str, float | None]]:
    yield "per_pixel_acc", scores.pixel_accuracy
    yield "per_label_acc", scores.mean_accuracy
    yield "iou_acc", scores.labelled_iou
    yield "weighted_iou_acc", scores.weighted_iou


def label_scores(param: pb.SolverParameter, scores: SetScores) -> tuple[LabelScore, ...]:
    """The scores of the classes that are there, with `show_per_class_result`."""
    if not param.show_per_class_result:
        return ()
    if param.eval_type == DETECTION:
        tables = [test.table(precision_rule(param)).classes for test in scores.detections]
        values = [(each.label, each.average) for table in tables for each in table]
    else:
        values = [(each.label, each.iou) for test in scores.segmentations for each in test.scores.by_class()]
    return tuple(LabelScore(label, value) for label, value in values if value is not None)
