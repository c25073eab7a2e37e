"""Plots: access to matplotlib, which is imported only here, the limits of axes, and the curves of a training run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from caffe_proto.errors import import_extra
from caffe_proto.storage import atomic_path
from netdsl.charts import limits_of_losses, limits_of_scores
from netdsl.distributed.run_log import Activity
from netdsl.solver.events import Event, TestFinished, TrainingProgress, as_numbers

COLORS: Mapping[Activity, str] = {
    Activity.COMPUTE: "#4f9d69",
    Activity.WAIT: "#c9c9c9",
    Activity.EXCHANGE: "#e07a3f",
    Activity.TEST: "#8a6fc4",
    Activity.SAVE: "#8c6d4f",
    Activity.BROADCAST: "#2f6fb3",
    Activity.REDUCE: "#c0392b",
    Activity.PREPARE: "#d9a520",
    Activity.PUSH: "#4fa7b5",
}


Points = dict[int, float]  # by iteration; a resumed run overwrites the iterations that it repeats


def pyplot() -> Any:
    """Return matplotlib's pyplot, set up to draw into files. Raises a MissingExtraError if matplotlib isn't
    installed."""
    import_extra("matplotlib", "logs", "plots need matplotlib").use("Agg")
    return import_module("matplotlib.pyplot")


def save_figure(figure: Any, path: str | Path) -> None:
    """Write a figure as a PNG and close it."""
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120)
    pyplot().close(figure)


class TrainingCurves:
    """A listener that collects the events of a solver and plots them."""

    def __init__(self) -> None:
        self.losses: dict[str, Points] = defaultdict(dict)
        self.scores: dict[str, Points] = defaultdict(dict)

    def __call__(self, event: Event) -> None:
        """Collect an event."""
        if isinstance(event, TrainingProgress):
            self.losses["train"][event.iteration] = event.loss
        elif isinstance(event, TestFinished):
            prefix = f"test {event.net} " if event.net else "test "
            weights = {output.name: output.loss_weight for output in event.outputs}
            for name, value in as_numbers(event.outputs).items():
                kind = self.losses if weights.get(name.partition("[")[0]) else self.scores
                kind[prefix + name][event.iteration] = value

    def save(self, path: str | Path) -> None:
        """Write the plot as a PNG."""
        save_figure(self.figure(), path)

    def figure(self) -> Any:
        """Return the plot, with a panel for losses and one for other outputs."""
        kinds = (("loss", self.losses, limits_of_losses), ("test", self.scores, limits_of_scores))
        panels = [(name, curves, limits) for name, curves, limits in kinds if curves]
        size = (8, 3.2 * max(1, len(panels)))
        figure, axes = pyplot().subplots(max(1, len(panels)), 1, figsize=size, squeeze=False, layout="tight")
        for axis, (title, curves, limits) in zip(axes[:, 0], panels, strict=False):
            _draw_curves(axis, title, curves)
            axis.set_ylim(limits(value for points in curves.values() for value in points.values()))
        return figure


def _draw_curves(axis: Any, title: str, curves: dict[str, Points]) -> None:
    for name, points in curves.items():
        iterations = sorted(points)
        axis.plot(iterations, [points[iteration] for iteration in iterations], label=name, marker=_marker(iterations))
    axis.set_xlabel("iteration")
    axis.set_ylabel(title)
    axis.grid(alpha=0.3)
    axis.legend()


def _marker(iterations: Iterable[int]) -> str | None:
    return "o" if len(list(iterations)) < 30 else None
