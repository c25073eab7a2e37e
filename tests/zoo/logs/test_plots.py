"""Plots of training runs, and the limits of their axes."""

from __future__ import annotations

from math import inf, nan
from pathlib import Path

import pytest
from PIL import Image

from netdsl.solver import events
from netdsl.solver.events import Output, TrainingProgress
from zoo.logs.plots import TrainingCurves, limits_of_losses, limits_of_scores


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        ([0.9805, 0.983], 0.9, 1.0),  # a tenth of the range of accuracies, even without room above
        ([0.0, 0.004], 0.0, 0.1),
        ([0.5], 0.45, 0.55),
        ([0.1, 0.98], 0.1, 0.98),
        ([0.9, nan, inf, 0.91], 0.855, 0.955),
        ([71.9, 72.0], 68.35, 75.55),  # a tenth of the largest value
        ([10.0, 72.0], 10.0, 72.0),
        ([-3.0, -2.9], -3.1, -2.8),
    ],
)
def test_a_small_change_of_an_accuracy_looks_small(values: list[float], low: float, high: float) -> None:
    margin = 0.05 * (high - low)
    assert limits_of_scores(values) == pytest.approx((low - margin, high + margin))


def test_losses_are_drawn_from_zero() -> None:
    assert limits_of_losses([2.301, nan, 2.0, inf]) == pytest.approx((0, 2.301 * 1.05))


@pytest.mark.parametrize("values", [[], [nan], [inf], [0.0, 0.0], [-1.0, 2.0]])
def test_other_values_get_matplotlibs_limits(values: list[float]) -> None:
    assert limits_of_losses(values) is None


def test_values_without_any_number_have_no_limits() -> None:
    assert limits_of_scores([]) is limits_of_scores([nan]) is None
    assert limits_of_scores([0.0]) == pytest.approx((-0.005, 0.105))


def test_small_changes_of_an_accuracy_and_of_a_loss_look_small() -> None:
    curves = TrainingCurves()
    for iteration, accuracy, loss in ((0, 0.983, 0.5), (5, 0.9805, 0.4875)):
        curves(events.TestFinished(iteration, 0, None, (Output("accuracy", (accuracy,)), Output("loss", (loss,), 1.0))))
    losses, scores = (axis.get_ylim() for axis in curves.figure().axes)
    assert scores == pytest.approx((0.895, 1.005))
    assert losses == pytest.approx((0, 0.525))


def test_losses_and_scores_are_drawn_separately_and_repeated_iterations_once(tmp_path: Path) -> None:
    curves = TrainingCurves()
    for iteration, loss in ((0, 2.0), (5, 1.0), (5, 0.5)):
        curves(TrainingProgress(iteration, loss, 0.1, ()))
    curves(events.TestFinished(5, 0, None, (Output("accuracy", (0.75,)), Output("loss", (1.5,), 1.0))))
    assert curves.losses == {"train": {0: 2.0, 5: 0.5}, "test loss": {5: 1.5}}
    assert curves.scores == {"test accuracy": {5: 0.75}}
    curves.save(tmp_path / "curves.png")
    with Image.open(tmp_path / "curves.png") as image:
        assert image.format == "PNG"
        tall = image.size
    del curves.scores["test accuracy"]
    curves.save(tmp_path / "curves.png")
    with Image.open(tmp_path / "curves.png") as image:
        assert image.size[1] < tall[1]
