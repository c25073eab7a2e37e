"""Average precision by the rules of Caffe-SSD, compared with a program that goes through detections as Caffe does."""

from __future__ import annotations

import numpy as np
import pytest

from netdsl.scores.precision import PrecisionRule, average_precision


def caffes_precision(marks: list[bool], objects: int, points: int | None, *, best: bool) -> float:
    """Compute Caffe's value, with float32 recalls and precisions that are compared with float64 numbers."""
    rows = [
        (np.float32(sum(marks[:end])) / np.float32(objects), sum(marks[:end]) / end) for end in range(1, len(marks) + 1)
    ]
    if points is not None:
        levels = [index / (points - 1) for index in range(points)]
        return sum(max((p for r, p in rows if float(r) >= level), default=0.0) for level in levels) / points
    total, last = 0.0, 0.0
    for recall, precision in rows:
        height = max(p for r, p in rows if r >= recall) if best else precision
        total += (float(recall) - last) * height
        last = float(recall)
    return total


@pytest.mark.parametrize(
    ("rule", "points", "best"),
    [
        (PrecisionRule.SSD_11_POINTS, 11, True),
        (PrecisionRule.SSD_101_POINTS, 101, True),
        (PrecisionRule.SSD_MAX_INTEGRAL, None, True),
        (PrecisionRule.SSD_INTEGRAL, None, False),
    ],
)
def test_precision_follows_the_rules_of_caffes_solver(rule: PrecisionRule, points: int | None, best: bool) -> None:
    random = np.random.default_rng(0)
    for _ in range(200):
        marks = random.random(random.integers(0, 40)) < 0.6
        objects = max(1, int(marks.sum() + random.integers(0, 5)))
        wanted = caffes_precision(marks.tolist(), objects, points, best=best)
        assert average_precision(marks, ~marks, objects, rule) == pytest.approx(wanted, abs=1e-6)


def test_seven_of_ten_reach_the_eighth_point_in_voc_but_not_in_caffe() -> None:
    marks = np.array([True] * 7)
    assert average_precision(marks, ~marks, 10, PrecisionRule.SSD_11_POINTS) == pytest.approx(7 / 11)
    assert average_precision(marks[:3], ~marks[:3], 10, PrecisionRule.SSD_11_POINTS) == pytest.approx(4 / 11)
