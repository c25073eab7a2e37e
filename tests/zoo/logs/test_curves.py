"""The picture of a run."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from netdsl.solver import events
from netdsl.solver.events import Output, TrainingProgress
from zoo.logs.curves import TrainingCurves


def test_losses_and_scores_are_drawn_apart_and_repeated_iterations_once(tmp_path: Path) -> None:
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
