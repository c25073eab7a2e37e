"""Box codes, overlaps and non-maximum suppression compared with plain loops and with the layers' own arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from netdsl.layers._boxes import decode, overlaps
from netdsl.prediction.decoders import boxes as numpy_boxes
from netdsl.prediction.decoders.boxes import Activation, BoxCode, decoded_boxes, suppressed


def random_boxes(count: int, seed: int = 0) -> np.ndarray:
    draw = np.random.default_rng(seed)
    centers, sides = draw.uniform(0, 50, (count, 2)), draw.uniform(5, 30, (count, 2))
    return np.concatenate([centers - sides / 2, centers + sides / 2], 1)


@pytest.mark.parametrize("code", BoxCode)
def test_codes_are_decoded_as_in_layers(code):
    priors, codes = random_boxes(20), np.random.default_rng(1).normal(0, 0.5, (20, 4))
    variances = np.array([0.1, 0.1, 0.2, 0.2])
    expected = decode(
        pb.PriorBoxParameter.CodeType.Value(code.value), *(torch.tensor(x) for x in (codes, priors, variances))
    )
    np.testing.assert_allclose(decoded_boxes(code, codes, priors, variances), expected.numpy(), rtol=1e-12)


@pytest.mark.parametrize("pixel", [0, 1])
def test_overlaps_equal_those_of_layers(pixel):
    boxes = random_boxes(20)
    expected = overlaps(torch.tensor(boxes[:1]), torch.tensor(boxes), pixel).numpy()
    np.testing.assert_allclose(numpy_boxes.overlaps(boxes[0], boxes, pixel=pixel), expected, rtol=1e-12)


def test_a_box_inside_another_overlaps_the_smaller_one_completely():
    outer, inner = np.array([0.0, 0, 10, 10]), np.array([[2.0, 2, 4, 4], [20, 20, 21, 21]])
    assert numpy_boxes.overlaps(outer, inner).tolist() == [0.04, 0]
    assert numpy_boxes.overlaps(outer, inner, of_smaller=True).tolist() == [1, 0]


def test_empty_boxes_overlap_nothing():
    point = np.array([1.0, 1, 1, 1])
    assert numpy_boxes.overlaps(point, np.stack([point, [5, 5, 3, 3]])).tolist() == [0, 0]


@pytest.mark.parametrize("candidates", [10, 1000])
def test_suppression_keeps_the_boxes_that_loops_keep(candidates):
    draw = np.random.default_rng(3)
    boxes, scores, labels = random_boxes(120), draw.random(120), draw.integers(0, 3, 120)
    kept = []
    for label in range(3):
        order = sorted(np.flatnonzero(labels == label), key=lambda box: -scores[box])[:candidates]
        own = []
        for box in order:
            if all(numpy_boxes.overlaps(boxes[other], boxes[[box]])[0] <= 0.3 for other in own):
                own.append(box)
        kept += own
    found = suppressed(boxes, scores, labels, 0.3, candidates=candidates)
    assert found.tolist() == sorted(kept, key=lambda box: -scores[box])


def test_activations_do_not_overflow():
    scores = np.array([[-1000.0, 0, 1000]])
    assert Activation.SIGMOID.apply(scores, 1).tolist() == [[0, 0.5, 1]]
    assert Activation.SOFTMAX.apply(scores, 1).tolist() == [[0, 0, 1]]
    assert Activation.NONE.apply(scores, 1) is scores


def test_a_huge_size_code_becomes_a_finite_box():
    assert np.isfinite(decoded_boxes(BoxCode.CENTER_SIZE, np.full((1, 4), 1e4), np.array([[0.0, 0, 1, 1]]))).all()
