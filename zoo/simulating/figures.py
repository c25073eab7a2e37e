"""Pictures of what was simulated."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from zoo.logs.drawing import pyplot, save
from zoo.simulating.cost import Costs
from zoo.simulating.methods import MethodResult, common_end
from zoo.simulating.speedup import Speedup

_POINTS = 200  # of a curve


def draw_speedups(found: Sequence[Speedup], goal: float, path: Path) -> None:
    """A heat map: workers downwards, tau to the left, as SparkNet's Figure 3 has it."""
    workers = sorted({each.workers for each in found})
    taus = sorted({each.tau for each in found}, reverse=True)
    factors = {(each.workers, each.tau): each.factor for each in found}
    rows = [[factors[count, tau] or math.nan for tau in taus] for count in workers]
    with _axes(path, 1, (1.5 + 0.9 * len(taus), 1.3 + 0.6 * len(workers))) as (axis,):
        image = axis.imshow(rows, cmap="viridis", aspect="auto")
        for row, values in enumerate(rows):
            for column, value in enumerate(values):
                text = "never" if math.isnan(value) else f"{value:.1f}"
                axis.text(column, row, text, ha="center", va="center", color=_ink(image, value))
        axis.set_xticks(range(len(taus)), taus)
        axis.set_yticks(range(len(workers)), workers)
        axis.set_xlabel("iterations between averaging, tau")
        axis.set_ylabel("workers, K")
        axis.set_title(f"speed-up to {goal:.0%} accuracy, exchanging for free")


def _ink(image: Any, value: float) -> str:
    """What can be read on a cell's colour."""
    return "black" if math.isnan(value) or image.norm(value) > 0.6 else "white"


def draw_costs(found: Sequence[Costs], workers: int, path: Path) -> None:
    """Two curves over what exchanging costs, as SparkNet's Figure 4 has it."""
    ratios = [each.ratio for each in found]
    with _axes(path, 1, (7, 4)) as (axis,):
        axis.plot(ratios, [each.averaging or math.nan for each in found], label="model averaging, at the best tau")
        axis.plot(ratios, [each.naive for each in found], label="naive: gradients in every iteration")
        axis.axhline(1, color="gray", linewidth=0.8, linestyle="--")
        axis.set_xscale("log")
        axis.set_xlabel("cost of an exchange in iterations, S / C(b)")
        axis.set_ylabel(f"speed-up of {workers} workers")
        axis.set_ylim(bottom=0)
        _finish(axis)


def draw_methods(courses: Sequence[MethodResult], path: Path) -> None:
    """The error over time, a panel for each cost of an exchange."""
    ratios = sorted({course.ratio for course in courses})
    with _axes(path, len(ratios), (6 * len(ratios), 4)) as axes:
        for axis, ratio in zip(axes, ratios, strict=True):
            shown = [course for course in courses if course.ratio == ratio]
            end = common_end(shown)
            times = [end * index / _POINTS for index in range(_POINTS + 1)]
            for course in shown:
                axis.plot(times, course.curve(times), label=course.method.value)
            axis.set_yscale("log")
            axis.set_xlabel("time in iterations of one machine")
            axis.set_ylabel("test error")
            axis.set_title(f"an exchange takes {ratio} iterations")
            _finish(axis)


def _finish(axis: Any) -> None:
    axis.grid(alpha=0.3, which="both")
    axis.legend()


@contextmanager
def _axes(path: Path, count: int, size: tuple[float, float]) -> Iterator[Sequence[Any]]:
    """Panels side by side, which are written as a PNG at the end."""
    figure, axes = pyplot().subplots(1, count, figsize=size, squeeze=False)
    yield axes[0]
    save(figure, path)
