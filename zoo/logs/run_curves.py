"""The plot of a run with several workers, over iterations and over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple
from functools import partial
from itertools import chain, groupby
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netdsl.distributed.record import Activity, RoundRecord
from netdsl.distributed.run_log import read_moments
from zoo.logs.drawing import COLOURS, limits_of_losses, limits_of_scores, pyplot, save
from zoo.logs.summary import Elapsed, less_is_better, sum_times, times_of

Moment = tuple[int, float]  # iterations and seconds of the run
Curve = dict[Moment, float]
Curves = dict[str, Curve]
Limits = Callable[[Iterable[float]], tuple[float, float] | None]
Panel = tuple[str, Callable[[Any, int], None]]  # a title, and a function that draws over one part of moments

_AXES = ("iteration", "seconds")
_PARTS = (
    Activity.COMPUTE,
    Activity.WAIT,
    Activity.EXCHANGE,
    Activity.TEST,
    Activity.SAVE,
)  # in the order of WorkerTimes
_MAX_MARKED = 30  # points of a curve with markers


def displayed_losses(log: Path) -> dict[int, float]:
    """The training losses in a run's log, by iteration; none if there is no log."""
    moments = read_moments(log) if log.exists() else ()
    return {moment.iteration: moment.loss for moment in moments if moment.loss is not None and isfinite(moment.loss)}


def draw_curves(records: Sequence[RoundRecord], displayed: Mapping[int, float], path: str | Path) -> None:
    """Write a PNG of tests, losses, the workers' distances from their mean, and the shares of their time."""
    save(curves_figure(records, displayed), path)


def curves_figure(records: Sequence[RoundRecord], displayed: Mapping[int, float]) -> Any:
    """The figure with a row of panels for each of them, by iterations on the left, by seconds on the right."""
    panels = _panels(RunCurves(records), displayed)
    figure, axes = pyplot().subplots(
        len(panels), 2, figsize=(13, 2.8 * len(panels)), squeeze=False, sharex="col", sharey="row", layout="tight"
    )
    for row, (title, draw) in zip(axes, panels, strict=True):
        for part, axis in enumerate(row):
            draw(axis, part)
            axis.grid(alpha=0.3)
        row[0].set_ylabel(title)
        row[1].legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    for name, axis in zip(_AXES, axes[-1], strict=True):
        axis.set_xlabel(name)
    return figure


def _panels(curves: RunCurves, displayed: Mapping[int, float]) -> list[Panel]:
    tests = curves.tests()
    losses = {name: curve for name, curve in tests.items() if less_is_better(name)}
    scores = {name: curve for name, curve in tests.items() if name not in losses}
    if displayed:
        losses["train"] = curves.at_times(displayed)
    panels: list[Panel] = []
    if scores:
        panels.append(("test", partial(_draw_lines, scores, limits_of_scores)))
    if losses:
        panels.append(("loss", partial(_draw_lines, losses, limits_of_losses)))
    if divergences := curves.divergences():
        panels.append(("distance from mean", partial(_draw_band, divergences)))
    return [*panels, ("share of time", partial(_draw_shares, curves))]


class RunCurves:
    """The curves of a run. A round is at the iteration and time at which its first worker ended it."""

    def __init__(self, records: Sequence[RoundRecord]) -> None:
        self._records, self._elapsed = records, Elapsed(records)
        self._rounds = [
            list(records_of_round) for _, records_of_round in groupby(records, key=lambda record: record.number)
        ]
        first = records[0]
        begin = (first.iteration - first.steps, self._elapsed(first.start))
        ends = [self._end(records_of_round[0]) for records_of_round in self._rounds]
        self.edges = np.maximum.accumulate(
            [begin, *ends]
        )  # the first worker may differ between rounds, so times could decrease

    def tests(self) -> Curves:
        """The curves of tests, by the names of outputs."""
        curves: Curves = defaultdict(dict)
        for record in self._records:
            for name, value in record.accuracy.items():
                curves[f"test {name}"][self._end(record)] = value
        return curves

    def at_times(self, values: Mapping[int, float]) -> Curve:
        """The curve of values by iteration, with the time of each iteration."""
        seconds = np.interp(sorted(values), *self.edges.T)
        return {
            (iteration, float(second)): values[iteration]
            for iteration, second in zip(sorted(values), seconds, strict=True)
        }

    def divergences(self) -> dict[Moment, list[float]]:
        """The workers' distances from their mean after each round."""
        divergences = {}
        for records in self._rounds:
            distances = [record.divergence for record in records if record.divergence is not None]
            if distances:
                divergences[self._end(records[0])] = distances
        return divergences

    def shares(self) -> NDArray[np.float64]:
        """The share of each activity in the workers' time, with a row for each round."""
        times = [astuple(sum_times(map(times_of, records))) for records in self._rounds]
        shares: NDArray[np.float64] = np.array(
            [[time / (sum(round_times) or 1.0) for time in round_times] for round_times in times]
        )
        return shares[:, : len(_PARTS)]

    def _end(self, record: RoundRecord) -> Moment:
        return record.iteration, self._elapsed(record.stop)


def _draw_lines(curves: Curves, limits: Limits, axis: Any, part: int) -> None:
    for name, curve in curves.items():
        marker = "o" if len(curve) < _MAX_MARKED else None
        axis.plot([moment[part] for moment in curve], list(curve.values()), label=name, marker=marker)
    axis.set_ylim(limits(value for curve in curves.values() for value in curve.values()))


def _draw_band(values: Mapping[Moment, Sequence[float]], axis: Any, part: int) -> None:
    """Draw the mean of all workers, in a band from the smallest to the largest value."""
    positions = [moment[part] for moment in values]
    axis.plot(
        positions, list(map(fmean, values.values())), label="mean", marker="o" if len(positions) < _MAX_MARKED else None
    )
    axis.fill_between(
        positions, list(map(min, values.values())), list(map(max, values.values())), alpha=0.25, label="all workers"
    )
    axis.set_ylim(limits_of_losses(chain.from_iterable(values.values())))


def _draw_shares(curves: RunCurves, axis: Any, part: int) -> None:
    edges = curves.edges[:, part]
    tops = np.cumsum(curves.shares(), axis=1).T
    for activity, top, bottom in zip(_PARTS, tops, [np.zeros_like(tops[0]), *tops], strict=False):
        axis.stairs(top, edges, baseline=bottom, fill=True, color=COLOURS[activity], label=activity.value)
    axis.set_ylim(0, 1)
