"""A picture of how a run with several workers went, over iterations and over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from functools import partial
from itertools import groupby
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netdsl.distributed.record import Activity, RoundRecord
from netdsl.distributed.run_log import read_moments
from zoo.logs.drawing import COLOURS, pyplot, save
from zoo.logs.summary import Elapsed, added, less_is_better, times_of

Moment = tuple[int, float]  # iterations and seconds of the run
Curve = dict[Moment, float]
Curves = dict[str, Curve]
Panel = tuple[str, Callable[[Any, int], None]]  # draws over the one or the other part of moments

_AXES = ("iteration", "seconds")
_PARTS = (Activity.COMPUTE, Activity.WAIT, Activity.EXCHANGE, Activity.TEST, Activity.SAVE)  # in the order of Times
_FEW = 30  # points, which are marked


def displayed_losses(log: Path) -> dict[int, float]:
    """The training losses in a log of lines, by iteration; none if there is no log."""
    moments = read_moments(log) if log.exists() else ()
    return {each.iteration: each.loss for each in moments if each.loss is not None and isfinite(each.loss)}


def draw_curves(records: Sequence[RoundRecord], displayed: Mapping[int, float], path: str | Path) -> None:
    """Write a PNG of tests, losses, the workers' distance from their mean, and what their time went into."""
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
    save(figure, path)


def _panels(course: RunCurves, displayed: Mapping[int, float]) -> list[Panel]:
    tests = course.tests()
    losses = {name: curve for name, curve in tests.items() if less_is_better(name)}
    scores = {name: curve for name, curve in tests.items() if name not in losses}
    if displayed:
        losses["train"] = course.placed(displayed)
    found: list[Panel] = []
    if scores:
        found.append(("test", partial(_draw_lines, scores)))
    if losses:
        found.append(("loss", partial(_draw_lines, losses)))
    if divergences := course.divergences():
        found.append(("distance from mean", partial(_draw_band, divergences)))
    return [*found, ("share of time", partial(_draw_shares, course))]


class RunCurves:
    """The rounds of a run, by number and rank, each placed where the first of its workers was at its end."""

    def __init__(self, records: Sequence[RoundRecord]) -> None:
        self._records, self._elapsed = records, Elapsed(records)
        self._rounds = [list(found) for _, found in groupby(records, key=lambda record: record.number)]
        first = records[0]
        begin = (first.iteration - first.steps, self._elapsed(first.start))
        ends = [self._end(found[0]) for found in self._rounds]
        self.edges = np.maximum.accumulate([begin, *ends])  # never back, whoever is the first

    def tests(self) -> Curves:
        """What tests gave, by the names of outputs."""
        found: Curves = defaultdict(dict)
        for record in self._records:
            for name, value in record.accuracy.items():
                found[f"test {name}"][self._end(record)] = value
        return found

    def placed(self, values: Mapping[int, float]) -> Curve:
        """Values by iteration, with the time at which that was reached."""
        seconds = np.interp(sorted(values), *self.edges.T)
        return {
            (iteration, float(second)): values[iteration]
            for iteration, second in zip(sorted(values), seconds, strict=True)
        }

    def divergences(self) -> dict[Moment, list[float]]:
        """How far workers were from their mean."""
        found = {}
        for records in self._rounds:
            distances = [record.divergence for record in records if record.divergence is not None]
            if distances:
                found[self._end(records[0])] = distances
        return found

    def shares(self) -> NDArray[np.float64]:
        """What share of the workers' time went into each of the parts: a row for each round."""
        times = [astuple(added(map(times_of, records))) for records in self._rounds]
        found: NDArray[np.float64] = np.array([[time / (sum(each) or 1.0) for time in each] for each in times])
        return found[:, : len(_PARTS)]

    def _end(self, record: RoundRecord) -> Moment:
        return record.iteration, self._elapsed(record.stop)


def _draw_lines(curves: Curves, axis: Any, part: int) -> None:
    for name, curve in curves.items():
        marker = "o" if len(curve) < _FEW else None
        axis.plot([moment[part] for moment in curve], list(curve.values()), label=name, marker=marker)


def _draw_band(values: Mapping[Moment, Sequence[float]], axis: Any, part: int) -> None:
    """The mean of all workers, in the band from the least to the most."""
    places = [moment[part] for moment in values]
    axis.plot(places, list(map(fmean, values.values())), label="mean", marker="o" if len(places) < _FEW else None)
    axis.fill_between(
        places, list(map(min, values.values())), list(map(max, values.values())), alpha=0.25, label="all workers"
    )


def _draw_shares(course: RunCurves, axis: Any, part: int) -> None:
    edges = course.edges[:, part]
    tops = np.cumsum(course.shares(), axis=1).T
    for activity, top, bottom in zip(_PARTS, tops, [np.zeros_like(tops[0]), *tops], strict=False):
        axis.stairs(top, edges, baseline=bottom, fill=True, color=COLOURS[activity], label=activity.value)
    axis.set_ylim(0, 1)
