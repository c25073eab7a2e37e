"""Plots of trainings."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from netdsl.solver import events
from netdsl.solver.events import Output, TrainingProgress
from zoo.logs.plots import TrainingCurves


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
