"""Scores of segmentations, counted pixel by pixel."""

from __future__ import annotations

import numpy as np
import pytest

from netdsl.scores.segmentation import SegmentationScores, count_confusions


def slow(labels: list[int], predicted: list[int], classes: int, ignored: int) -> dict[str, float]:
    pairs = [pair for pair in zip(labels, predicted, strict=True) if pair[0] != ignored and 0 <= pair[0] < classes]
    accuracies, ious, weighted = [], [], 0.0
    for each in range(classes):
        hits = sum(label == taken == each for label, taken in pairs)
        there = sum(label == each for label, _ in pairs)
        either = sum(each in pair for pair in pairs)
        if there:
            accuracies.append(hits / there)
        if either:
            ious.append(hits / either)
            weighted += there / len(pairs) * hits / either
    right = sum(label == taken for label, taken in pairs) / len(pairs)
    means = (sum(values) / len(values) for values in (accuracies, ious))
    names = ("pixel accuracy", "mean accuracy", "mIoU", "frequency-weighted IoU")
    return dict(zip(names, (right, *means, weighted), strict=True))


@pytest.mark.parametrize("seed", range(10))
def test_the_four_numbers_equal_those_of_a_slow_program(seed: int) -> None:
    random = np.random.default_rng(seed)
    labels = random.choice([0, 1, 2, 4, 255], (3, 9, 7))  # 3 never occurs, and 5 is neither labeled nor predicted
    predicted = np.where(random.random(labels.shape) < 0.5, labels % 5, random.integers(0, 5, labels.shape))
    scores = SegmentationScores(count_confusions(labels, predicted, 6, [2]))
    assert scores.summary() == pytest.approx(slow(labels.ravel().tolist(), predicted.ravel().tolist(), 6, 2))


def test_absent_classes_have_no_score() -> None:
    labels, predicted = np.array([0, 0, 0, 1]), np.array([0, 0, 2, 0])
    classes = SegmentationScores(count_confusions(labels, predicted, 4)).by_class()
    assert [(each.pixels, each.accuracy, each.iou) for each in classes] == [
        (3, 2 / 3, 2 / 4),
        (1, 0, 0),
        (0, None, 0),
        (0, None, None),
    ]


def test_only_ignored_pixels_give_no_score() -> None:
    scores = SegmentationScores(count_confusions(np.full((2, 2), 255), np.zeros((2, 2), int), 3))
    assert scores.summary() == dict.fromkeys(scores.summary())
