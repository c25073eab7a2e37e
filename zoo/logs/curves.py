"""The plot of a training run: losses above, other outputs of the test nets below."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from netdsl.solver.events import Event, TestFinished, TrainingProgress, as_numbers
from zoo.logs.drawing import limits_of_losses, limits_of_scores, pyplot, save

Points = dict[int, float]  # by iteration; a resumed run overwrites the iterations that it repeats


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
        save(self.figure(), path)

    def figure(self) -> Any:
        """The plot, with a panel for losses and one for other outputs."""
        kinds = (("loss", self.losses, limits_of_losses), ("test", self.scores, limits_of_scores))
        panels = [(name, curves, limits) for name, curves, limits in kinds if curves]
        size = (8, 3.2 * max(1, len(panels)))
        figure, axes = pyplot().subplots(max(1, len(panels)), 1, figsize=size, squeeze=False, layout="tight")
        for axis, (title, curves, limits) in zip(axes[:, 0], panels, strict=False):
            _draw(axis, title, curves)
            axis.set_ylim(limits(value for points in curves.values() for value in points.values()))
        return figure


def _draw(axis: Any, title: str, curves: dict[str, Points]) -> None:
    for name, points in curves.items():
        iterations = sorted(points)
        axis.plot(iterations, [points[iteration] for iteration in iterations], label=name, marker=_marker(iterations))
    axis.set_xlabel("iteration")
    axis.set_ylabel(title)
    axis.grid(alpha=0.3)
    axis.legend()


def _marker(iterations: Iterable[int]) -> str | None:
    return "o" if len(list(iterations)) < 30 else None
