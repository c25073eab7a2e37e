"""Plots: access to matplotlib, which is imported only here, the limits of axes, and the curves of a training run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from importlib import import_module
from math import isfinite
from pathlib import Path
from typing import Any

from caffe_proto.errors import import_extra
from caffe_proto.storage import atomic_path
from netdsl.distributed.run_log import Activity
from netdsl.solver.events import Event, TestFinished, TrainingProgress, as_numbers

COLOURS: Mapping[Activity, str] = {
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


_LEAST_HEIGHT = 0.1  # minimum height of an axis, relative to the range of accuracies or to the largest value
_MARGIN = 0.05  # margin of an axis, above and below the curves

Points = dict[int, float]  # by iteration, since a resumed run overwrites the iterations that it repeats


def limits_of_scores(values: Iterable[float]) -> tuple[float, float] | None:
    """Return the limits of an axis for accuracies and other scores. The axis is high enough that small changes don't
    look like a collapse.

    If all values are between 0 and 1, the axis stays in that range.
    """
    numbers = [value for value in values if isfinite(value)]
    if not numbers:
        return None
    low, high = min(numbers), max(numbers)
    is_share = low >= 0 and high <= 1
    least = _LEAST_HEIGHT * (1.0 if is_share else max(abs(low), abs(high)))
    missing = max(0.0, least - (high - low)) / 2
    low, high = low - missing, high + missing
    if is_share:  # shifts the part beyond a limit to the other side
        shift = max(0.0, -low) - max(0.0, high - 1)
        low, high = low + shift, high + shift
    margin = _MARGIN * (high - low)
    return (low - margin, high + margin) if margin else None


def limits_of_losses(values: Iterable[float]) -> tuple[float, float] | None:
    """Return the limits of an axis for losses and distances. It starts at 0, so that heights show absolute values."""
    numbers = [value for value in values if isfinite(value)]
    if not numbers or min(numbers) < 0 or not max(numbers):
        return None
    return 0.0, max(numbers) * (1 + _MARGIN)


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
