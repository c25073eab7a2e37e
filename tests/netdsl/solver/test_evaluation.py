"""Scores of whole test sets, from solvers that are configured to compute them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.errors import SolverError
from netdsl.model.model import Model
from netdsl.scores.precision import PrecisionRule
from netdsl.scores.segmentation import SegmentationScores, count_confusions
from netdsl.solver import events as tell
from netdsl.solver.caffe_log import CaffeLog
from netdsl.solver.evaluation import average_batches, gather_scores, unsupported_scores
from netdsl.solver.events import event_as_json
from netdsl.solver.solver import Solver
from netdsl.solver.trainable_net import Compute, ModuleNet

TRAIN = """
layer { name: "x" type: "Input" top: "x" top: "y" input_param { shape { dim: 2 dim: 3 } shape { dim: 2 dim: 1 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "p" inner_product_param { num_output: 1 } }
layer { name: "loss" type: "EuclideanLoss" bottom: "p" bottom: "y" top: "loss" }
"""
DETECTOR = """
layer { name: "d" type: "Input" top: "d" top: "o"
        input_param { shape { dim: 1 dim: 1 dim: 5 dim: 7 } shape { dim: 1 dim: 1 dim: 3 dim: 8 } } }
layer { name: "eval" type: "DetectionEvaluate" bottom: "d" bottom: "o" top: "detection_eval"
        detection_evaluate_param { num_classes: 4 overlap_threshold: 0.5 evaluate_difficult_gt: false } }
"""
SEGMENTER = """
layer { name: "x" type: "Input" top: "score" top: "label"
        input_param { shape { dim: 2 dim: 4 dim: 5 dim: 6 } shape { dim: 2 dim: 1 dim: 5 dim: 6 } } }
layer { name: "accuracy" type: "Accuracy" bottom: "score" bottom: "label" top: "accuracy"
        accuracy_param { ignore_label: 2 } }
"""
LEFT, RIGHT, ELSEWHERE = (0.1, 0.1, 0.4, 0.5), (0.6, 0.1, 0.9, 0.5), (0.1, 0.6, 0.4, 0.9)
NONE = (-1, *[0] * 7)
# The first batch has two objects of class 1 and one of class 2. The second has one of class 1 and a difficult one.
BATCHES = [
    {
        "d": [(0, 1, 0.9, *LEFT), (0, 1, 0.3, *ELSEWHERE), (0, 2, 0.5, *ELSEWHERE), (1, 1, 0.7, *LEFT)],
        "o": [(0, 1, 0, *LEFT, 0), (0, 2, 0, *RIGHT, 0), (1, 1, 0, *RIGHT, 0)],
    },
    {
        "d": [(0, 1, 0.8, *LEFT), (0, 1, 0.6, *RIGHT)],
        "o": [(0, 1, 0, *LEFT, 0), (0, 1, 1, *RIGHT, 1), NONE],
    },
]
# For class 1, the detections from best to worst are right, right, wrong, wrong. Two of three objects are found.


def net_of(text: str, values: Any, phase: pb.Phase = pb.TEST, compute: Compute | None = None) -> ModuleNet:
    net = from_text(text, pb.NetParameter)
    net.state.phase = phase
    return ModuleNet.open(Model(net), compute, values=values)


def detections() -> Iterator[dict[str, np.ndarray]]:
    for batch in BATCHES * 10:
        yield {name: np.array(rows, np.float32)[None, None] for name, rows in batch.items()}


def pixels() -> list[dict[str, np.ndarray]]:
    random = np.random.default_rng(1)
    labels = [random.integers(0, 3, (2, 1, 5, 6)) for _ in range(3)]
    return [{"score": random.normal(size=(2, 4, 5, 6)).astype(np.float32), "label": label} for label in labels]


def solver_of(test: ModuleNet, batches: int, listen=lambda event: None, **settings: Any) -> Solver:
    train = net_of(TRAIN, lambda: {"x": np.ones((2, 3), np.float32), "y": np.ones((2, 1), np.float32)}, pb.TRAIN)
    param = pb.SolverParameter(
        base_lr=0.1, lr_policy="fixed", max_iter=1, test_iter=[batches], test_interval=1, **settings
    )
    return Solver(param, train, [test], listen=listen)


def result_of(test: ModuleNet, batches: int, **settings: Any) -> tell.TestFinished:
    result = solver_of(test, batches, **settings).test()
    assert result is not None
    return result


@pytest.mark.parametrize(
    ("version", "of_class_1"),
    [("11point", 7 / 11), ("MaxIntegral", 2 / 3), ("Integral", 2 / 3), ("101point", 67 / 101)],
)
def test_detections_of_all_batches_give_one_mean_average_precision(version: str, of_class_1: float) -> None:
    result = result_of(net_of(DETECTOR, detections()), 2, eval_type="detection", ap_version=version)
    (output,) = result.outputs
    assert output.name == "detection_eval"
    assert output.values == pytest.approx([of_class_1 / 3])  # class 2 is never right, and class 3 never occurs
    assert result.classes == ()


def test_classes_are_reported_if_the_settings_request_them() -> None:
    lines: list[str] = []
    events: list[tell.Event] = []
    settings = {"eval_type": "detection", "ap_version": "MaxIntegral", "show_per_class_result": True}
    solver = solver_of(net_of(DETECTOR, detections()), 2, events.append, **settings)
    result = solver.test()
    assert [(each.label, each.value) for each in result.classes] == [(1, pytest.approx(2 / 3)), (2, 0)]
    assert event_as_json(result)["classes"] == {"1": pytest.approx(2 / 3), "2": 0}
    log = CaffeLog(solver.param, lambda severity, where, text: lines.append(text))
    for event in events:
        log(event)
    assert lines[-3:] == ["class1: 0.666667", "class2: 0", "    Test net output #0: detection_eval = 0.222222"]


def test_two_tests_score_the_same_and_leave_no_state_in_the_net() -> None:
    test = net_of(DETECTOR, detections())
    solver = solver_of(test, 2, eval_type="detection")
    assert solver.test() == solver.test()
    assert not any(layer._forward_hooks for layer in test.built.layers)


def test_rows_of_detections_have_no_mean() -> None:
    assert result_of(net_of(DETECTOR, detections()), 2).outputs == ()


def test_an_output_whose_batches_differ_in_shape_has_no_mean() -> None:
    text = TRAIN + 'layer { name: "s" type: "Sigmoid" bottom: "p" top: "s" }'
    batches = [{"x": np.ones((rows, 3), np.float32), "y": np.ones((rows, 1), np.float32)} for rows in (2, 1)]
    for count, names in ((1, ["loss", "s"]), (2, ["loss"])):
        means = average_batches(net_of(text, batches), count)
        assert means is not None and [output.name for output in means[1]] == names


def test_coco_counts_the_images_of_all_batches() -> None:
    test = net_of(DETECTOR, detections())
    with gather_scores(test.built) as scores:
        average_batches(test, 2)
    (detection,) = scores.detections
    coco = detection.coco()
    assert coco.objects == (3, 1)
    found = [each.precision for each in coco.by_class()]
    assert found == [pytest.approx(67 / 101), 0]  # two of three objects come before the first error
    assert detection.table(PrecisionRule.VOC_2010).mean == pytest.approx(1 / 3)


def test_detections_are_not_compared_with_another_batchs_objects() -> None:
    rows = [([(0, 1, 0.9, *RIGHT)], [(0, 1, 0, *LEFT, 0)]), ([(0, 1, 0.5, *LEFT)], [(0, 1, 0, *RIGHT, 0)])]
    batches = [{"d": np.array(d * 5)[None, None], "o": np.array(o * 3)[None, None]} for d, o in rows]
    test = net_of(DETECTOR, batches)
    with gather_scores(test.built) as scores:
        average_batches(test, 2)
    assert scores.detections[0].coco().precision() == 0


@pytest.mark.parametrize("compiled", [False, True])
def test_pixels_of_all_batches_give_one_score(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if compiled:  # compiled, but without a C++ compiler, which not every machine has
        compile_eagerly = torch.compile
        monkeypatch.setattr("torch.compile", lambda function: compile_eagerly(function, backend="eager"))
    test = net_of(SEGMENTER, pixels(), compute=Compute(compiled=compiled))
    average_batches(test, 3)  # with an earlier compiled net
    result = result_of(test, 3, eval_type="segmentation", show_per_class_result=True)
    labels, scores = (np.concatenate([batch[name] for batch in pixels()]) for name in ("label", "score"))
    wanted = SegmentationScores(count_confusions(labels, scores.argmax(1), 4, [2]))
    values = {output.name: output.values[0] for output in result.outputs}
    assert values["per_pixel_acc"] == pytest.approx(wanted.pixel_accuracy)
    assert values["per_pixel_acc"] == pytest.approx(values["accuracy"], abs=0.1)  # accuracy is a mean over batches
    assert values["per_label_acc"] == pytest.approx(wanted.mean_accuracy)
    assert values["iou_acc"] == pytest.approx(sum(each.iou for each in wanted.by_class()[:2]) / 2)
    assert values["weighted_iou_acc"] == pytest.approx(wanted.weighted_iou)
    assert [each.label for each in result.classes] == [0, 1, 2, 3]


def test_scores_that_a_test_net_cannot_provide_are_refused() -> None:
    detector, segmenter = (net_of(text, [{}]).built for text in (DETECTOR, SEGMENTER))
    for asked, nets, says in [
        ("detection", [segmenter], "no layer of a test net judges detections"),
        ("segmentation", [detector], "no layer of a test net compares classes of pixels"),
        ("keypoints", [detector], "eval_type 'keypoints' isn't supported"),
    ]:
        assert says in unsupported_scores(pb.SolverParameter(eval_type=asked), nets)
    for asked, nets in [("detection", [detector]), ("segmentation", [segmenter]), ("", [detector]), ("detection", [])]:
        assert unsupported_scores(pb.SolverParameter(eval_type=asked), nets) == ""


def test_an_unknown_version_is_refused_if_it_is_used() -> None:
    with pytest.raises(SolverError, match="ap_version is '12point'; set it to one of 11point"):
        solver_of(net_of(DETECTOR, detections()), 1, eval_type="detection", ap_version="12point")
    solver_of(net_of(DETECTOR, detections()), 1, ap_version="12point")
