"""Figures of the simulated experiments."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from zoo.logs.drawing import pyplot, save
from zoo.simulating.cost import ExchangeCost
from zoo.simulating.methods import MethodResult, common_end
from zoo.simulating.scaling import BY_TAU, BY_WORKERS, ScalingResult, select
from zoo.simulating.speedup import Speedup

_CURVE_POINTS = 200  # of a curve


def draw_speedups(speedups: Sequence[Speedup], goal: float, path: Path) -> None:
    """Draw a heat map as SparkNet's Figure 3: workers downwards, tau to the left."""
    workers = sorted({speedup.workers for speedup in speedups})
    taus = sorted({speedup.tau for speedup in speedups}, reverse=True)
    factors = {(speedup.workers, speedup.tau): speedup.factor for speedup in speedups}
    rows = [[factors[count, tau] or math.nan for tau in taus] for count in workers]
    with _axes(path, 1, (1.5 + 0.9 * len(taus), 1.3 + 0.6 * len(workers))) as (axis,):
        image = axis.imshow(rows, cmap="viridis", aspect="auto")
        for row, values in enumerate(rows):
            for column, value in enumerate(values):
                text = "never" if math.isnan(value) else f"{value:.1f}"
                axis.text(column, row, text, ha="center", va="center", color=_text_colour(image, value))
        axis.set_xticks(range(len(taus)), taus)
        axis.set_yticks(range(len(workers)), workers)
        axis.set_xlabel("iterations between averaging, tau")
        axis.set_ylabel("workers, K")
        axis.set_title(f"speed-up to {goal:.0%} accuracy, exchanging for free")


def _text_colour(image: Any, value: float) -> str:
    """A text colour that is readable on a cell."""
    return "black" if math.isnan(value) or image.norm(value) > 0.6 else "white"


def draw_costs(costs: Sequence[ExchangeCost], workers: int, path: Path) -> None:
    """Draw two curves over the cost of an exchange, as SparkNet's Figure 4."""
    ratios = [cost.ratio for cost in costs]
    with _axes(path, 1, (7, 4)) as (axis,):
        axis.plot(ratios, [cost.averaging or math.nan for cost in costs], label="model averaging, at the best tau")
        axis.plot(ratios, [cost.naive for cost in costs], label="naive: gradients in every iteration")
        axis.axhline(1, color="gray", linewidth=0.8, linestyle="--")
        axis.set_xscale("log")
        axis.set_xlabel("cost of an exchange in iterations, S / C(b)")
        axis.set_ylabel(f"speed-up of {workers} workers")
        axis.set_ylim(bottom=0)
        _finish(axis)


def draw_methods(results: Sequence[MethodResult], path: Path) -> None:
    """Draw the error over time, with a panel for each network and cost of an exchange."""
    settings = list(dict.fromkeys(result.setting for result in results))
    with _axes(path, len(settings), (5 * len(settings), 4)) as axes:
        for axis, setting in zip(axes, settings, strict=True):
            shown_results = [result for result in results if result.setting == setting]
            end = common_end(shown_results)
            times = [end * index / _CURVE_POINTS for index in range(_CURVE_POINTS + 1)]
            for result in shown_results:
                axis.plot(times, result.curve(times), label=result.method.value)
            axis.set_yscale("log")
            axis.set_xlabel("time in iterations of one machine")
            axis.set_ylabel("test error")
            axis.set_title(f"{setting.network.value}: an exchange takes {setting.ratio} iterations")
            _finish(axis)


def draw_scaling(results: Sequence[ScalingResult], path: Path) -> None:
    """Draw the accuracy over time by workers, as SparkNet's Figure 5, and by tau, as its Figure 7."""
    end = min(outcome.points[-1].time for result in results for outcome in result.outcomes)
    times = [end * index / _CURVE_POINTS for index in range(_CURVE_POINTS + 1)]
    with _axes(path, 2, (12, 4)) as axes:
        for axis, cases in zip(axes, (BY_WORKERS, BY_TAU), strict=True):
            for result in select(results, cases):
                accuracies = [1 - error for error in result.curve(times)]
                label = f"K = {result.workers}" if cases is BY_WORKERS else f"tau = {result.tau}"
                axis.plot([time / 3600 for time in times], accuracies, label=label)
            axis.set_xlabel("hours")
            axis.set_ylabel("test accuracy")
            axis.set_title("by workers, tau = 50" if cases is BY_WORKERS else "by tau, K = 5")
            _finish(axis)


def _finish(axis: Any) -> None:
    axis.grid(alpha=0.3, which="both")
    axis.legend()


@contextmanager
def _axes(path: Path, count: int, size: tuple[float, float]) -> Iterator[Sequence[Any]]:
    """Panels side by side, which are written as a PNG when the block ends."""
    figure, axes = pyplot().subplots(1, count, figsize=size, squeeze=False)
    yield axes[0]
    save(figure, path)
