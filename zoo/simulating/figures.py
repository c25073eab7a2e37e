"""The papers' figures: the trainings for each figure, its picture, and the tables of its numbers."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from caffe_proto.storage import atomic_path
from netdsl.distributed.machines import Link
from netdsl.planner.convergence import write_grid
from netdsl.planner.units import format_seconds
from zoo.logs.plots import pyplot, save_figure
from zoo.requests.events import Listen
from zoo.simulating.convergence import (
    BatchCost,
    ConvergenceExperiment,
    ExchangeCost,
    Speedup,
    batch_costs,
    convergence_grid,
    costs,
    speedups,
)
from zoo.simulating.methods import MethodComparison, MethodResult, common_end, compare_methods
from zoo.simulating.scaling import BY_TAU, BY_WORKERS, ScalingExperiment, ScalingResult, scale_alexnet, select
from zoo.simulating.trials import TrialCache, trainings

_CURVE_POINTS = 200  # number of points in a curve

Table = Sequence[Sequence[str]]  # the first row contains the names of the columns
LEVELS = (0.9, 0.94, 0.96, 0.97)  # the accuracies in the table


def _draw_speedups(speedups: Sequence[Speedup], goal: float, path: Path) -> None:
    """Draw a heat map like SparkNet's Figure 3. Workers increase downwards, and tau to the left."""
    workers = sorted({speedup.workers for speedup in speedups})
    taus = sorted({speedup.tau for speedup in speedups}, reverse=True)
    factors = {(speedup.workers, speedup.tau): speedup.factor for speedup in speedups}
    rows = [[factors[count, tau] or math.nan for tau in taus] for count in workers]
    with _written_panels(path, 1, (1.5 + 0.9 * len(taus), 1.3 + 0.6 * len(workers))) as (axis,):
        image = axis.imshow(rows, cmap="viridis", aspect="auto")
        for row, values in enumerate(rows):
            for column, value in enumerate(values):
                text = "never" if math.isnan(value) else f"{value:.1f}"
                axis.text(column, row, text, ha="center", va="center", color=_text_color(image, value))
        axis.set_xticks(range(len(taus)), taus)
        axis.set_yticks(range(len(workers)), workers)
        axis.set_xlabel("iterations between averaging, tau")
        axis.set_ylabel("workers, K")
        axis.set_title(f"speed-up to {goal:.0%} accuracy, with free exchanges")


def _text_color(image: Any, value: float) -> str:
    """Return a text color that is readable on a cell."""
    return "black" if math.isnan(value) or image.norm(value) > 0.6 else "white"


def _draw_costs(costs: Sequence[ExchangeCost], workers: int, path: Path) -> None:
    """Draw two curves against the cost of an exchange, as in SparkNet's Figure 4."""
    ratios = [cost.ratio for cost in costs]
    with _written_panels(path, 1, (7, 4)) as (axis,):
        axis.plot(ratios, [cost.averaging or math.nan for cost in costs], label="model averaging, at the best tau")
        axis.plot(ratios, [cost.naive for cost in costs], label="naive: gradients in every iteration")
        axis.axhline(1, color="gray", linewidth=0.8, linestyle="--")
        axis.set_xscale("log")
        axis.set_xlabel("cost of an exchange in iterations, S / C(b)")
        axis.set_ylabel(f"speed-up of {workers} workers")
        axis.set_ylim(bottom=0)
        _finish_axis(axis)


def _draw_methods(results: Sequence[MethodResult], path: Path) -> None:
    """Draw the error over time, with a panel for each network and cost of an exchange."""
    settings = list(dict.fromkeys(result.setting for result in results))
    with _written_panels(path, len(settings), (5 * len(settings), 4)) as axes:
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
            _finish_axis(axis)


def _draw_scaling(results: Sequence[ScalingResult], path: Path) -> None:
    """Draw the accuracy over time, by workers as in SparkNet's Figure 5, and by tau as in its Figure 7."""
    end = min(outcome.points[-1].time for result in results for outcome in result.outcomes)
    times = [end * index / _CURVE_POINTS for index in range(_CURVE_POINTS + 1)]
    with _written_panels(path, 2, (12, 4)) as axes:
        for axis, cases in zip(axes, (BY_WORKERS, BY_TAU), strict=True):
            for result in select(results, cases):
                accuracies = [1 - error for error in result.curve(times)]
                label = f"K = {result.workers}" if cases is BY_WORKERS else f"tau = {result.tau}"
                axis.plot([time / 3600 for time in times], accuracies, label=label)
            axis.set_xlabel("hours")
            axis.set_ylabel("test accuracy")
            axis.set_title("by workers, tau = 50" if cases is BY_WORKERS else "by tau, K = 5")
            _finish_axis(axis)


def _finish_axis(axis: Any) -> None:
    axis.grid(alpha=0.3, which="both")
    axis.legend()


@contextmanager
def _written_panels(path: Path, count: int, size: tuple[float, float]) -> Iterator[Sequence[Any]]:
    """Yield panels in a row, which are written as a PNG when the block ends."""
    figure, axes = pyplot().subplots(1, count, figsize=size, squeeze=False)
    yield axes[0]
    save_figure(figure, path)


def _write_csv(path: Path, table: Table) -> None:
    """Write a table as a CSV file."""
    with atomic_path(path) as temporary, temporary.open("w", newline="") as file:
        csv.writer(file).writerows(table)


def _speedup_table(speedups: Sequence[Speedup]) -> Table:
    """Return a row for each cell of the heat map. The speed-up is empty if the accuracy was never reached."""
    rows = [
        (
            str(speedup.workers),
            str(speedup.tau),
            _number_text(speedup.serial, ".0f"),
            _number_text(speedup.parallel, ".0f"),
            _number_text(speedup.factor),
        )
        for speedup in speedups
    ]
    return [("workers", "tau", "N_a", "tau M_a", "speed-up"), *rows]


def _speedup_grid(speedups: Sequence[Speedup]) -> Table:
    """Return the heat map as a table. Workers increase downwards, and tau to the left."""
    taus = sorted({speedup.tau for speedup in speedups}, reverse=True)
    factors = {(speedup.workers, speedup.tau): speedup.factor for speedup in speedups}
    rows = [
        (str(count), *(_number_text(factors[count, tau], ".2f") or "never" for tau in taus))
        for count in sorted({speedup.workers for speedup in speedups})
    ]
    return [("K \\ tau", *map(str, taus)), *rows]


def _cost_table(costs: Sequence[ExchangeCost]) -> Table:
    """Return a row for each point of the curves."""
    rows = [
        (
            f"{cost.ratio:.4g}",
            f"{cost.naive:.3f}",
            _number_text(cost.averaging),
            "" if cost.tau is None else str(cost.tau),
        )
        for cost in costs
    ]
    return [("S/C", "naive", "averaging", "best tau"), *rows]


def _batch_table(costs: Sequence[BatchCost]) -> Table:
    """Return a row for each batch size, with the time that a single machine needs."""
    rows = [
        (
            str(cost.batch),
            format_seconds(cost.step),
            format_seconds(cost.exchange),
            f"{cost.exchange / cost.step:.2f}",
            _number_text(cost.iterations, ".0f"),
            "" if cost.iterations is None else format_seconds(cost.iterations * cost.step),
        )
        for cost in costs
    ]
    return [("b", "C(b)", "S", "S/C(b)", "N_a(b)", "N_a(b) C(b)"), *rows]


def _methods_table(results: Sequence[MethodResult]) -> Table:
    """Return the time at which each method reached each accuracy, in iterations of one machine, and the final
    accuracies."""
    end = common_end(results)
    rows = [
        (
            result.setting.network.value,
            str(result.setting.ratio),
            result.method.value,
            *(_number_text(result.time_to_reach(level), ".0f") for level in LEVELS),
            f"{result.final_accuracy(end):.1%}",
            f"{result.compute_share:.0%}",
        )
        for result in results
    ]
    return [("network", "S/C", "method", *(f"{level:.0%}" for level in LEVELS), "in the end", "computing"), *rows]


def scaling_table(results: Sequence[ScalingResult], accuracy: float) -> Table:
    """Return the hours until an accuracy is reached, and the speed-ups over one worker, by workers and tau."""
    hours = {(result.workers, result.tau): result.time_to_reach(accuracy) for result in results}
    single = next(time for (workers, _), time in hours.items() if workers == 1)
    rows = [
        (
            str(workers),
            str(tau),
            _number_text(None if time is None else time / 3600, ".2f"),
            _number_text(single / time if single and time else None, ".2f"),
        )
        for (workers, tau), time in hours.items()
    ]
    return [("workers", "tau", f"hours to {accuracy:.0%}", "speed-up"), *rows]


def _number_text(value: float | None, form: str = ".3f") -> str:
    return "" if value is None else format(value, form)


@dataclass(frozen=True)
class DrawnFigure:
    """The files of a figure, and its table."""

    table: Table
    files: tuple[Path, ...]

    def plain(self) -> dict[str, Any]:
        """Return the files, and the rows as dictionaries by column."""
        heads, *rows = self.table
        cells = [dict(zip(heads, map(_plain_cell, row), strict=True)) for row in rows]
        return {"files": self.files, "rows": cells}


def _plain_cell(text: str) -> str | float:
    """Return a table's cell, as a number if possible."""
    try:
        return float(text)
    except ValueError:
        return text


@dataclass(frozen=True)
class FigureFolder:
    """The folder for figures, the cache of trainings, and the callback that reports progress."""

    path: Path
    cache: TrialCache
    listen: Listen

    def speedup(self, experiment: ConvergenceExperiment, workers: Sequence[int], taus: Sequence[int]) -> DrawnFigure:
        """Draw SparkNet's Figure 3: the speed-up by workers and tau, with free exchanges."""
        with trainings("speedup", self.listen) as progress:
            results = speedups(experiment, progress, self.cache, workers=workers, taus=taus)
        files = self._files_of_figure("speedup.csv", "speedup.png", "speedup.json")
        _write_csv(files[0], _speedup_table(results))
        _draw_speedups(results, experiment.goal, files[1])
        write_grid(convergence_grid(experiment, results), files[2])
        return DrawnFigure(_speedup_grid(results), files)

    def cost(self, experiment: ConvergenceExperiment, workers: int, taus: Sequence[int], link: Link) -> DrawnFigure:
        """Draw SparkNet's Figure 4: the speed-up by the cost of exchanges, and the times of batches on this machine."""
        with trainings("cost", self.listen) as progress:
            exchanges = costs(speedups(experiment, progress, self.cache, workers=[workers], taus=taus))
        with trainings("batches", self.listen) as progress:
            batches = _batch_table(batch_costs(experiment, workers, link, progress, self.cache))
        files = self._files_of_figure("cost.csv", "batches.csv", "cost.png")
        _write_csv(files[0], _cost_table(exchanges))
        _write_csv(files[1], batches)
        _draw_costs(exchanges, workers, files[2])
        return DrawnFigure(batches, files)

    def methods(self, comparison: MethodComparison) -> DrawnFigure:
        """Draw the MPCA paper's comparison of four methods."""
        with trainings("methods", self.listen) as progress:
            results = compare_methods(comparison, progress, self.cache)
        files, table = self._files_of_figure("methods.csv", "methods.png"), _methods_table(results)
        _write_csv(files[0], table)
        _draw_methods(results, files[1])
        return DrawnFigure(table, files)

    def alexnet(self, experiment: ScalingExperiment, accuracy: float) -> DrawnFigure:
        """Draw SparkNet's Figures 5 and 7: AlexNet by workers and tau, and the times until an accuracy."""
        with trainings("alexnet", self.listen) as progress:
            results = scale_alexnet(experiment, progress, self.cache)
        files, table = self._files_of_figure("alexnet.csv", "alexnet.png"), scaling_table(results, accuracy)
        _write_csv(files[0], table)
        _draw_scaling(results, files[1])
        return DrawnFigure(table, files)

    def _files_of_figure(self, *names: str) -> tuple[Path, ...]:
        return tuple(self.path / name for name in names)
