"""Summaries of runs with several workers: the time of each worker by activity, tests, and curves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import groupby
from statistics import fmean

import numpy as np

from netdsl.charts import less_is_better
from netdsl.distributed.run_log import Activity, RoundRecord

Moment = tuple[int, float]  # iteration and seconds of the run
MomentCurve = dict[Moment, float]


@dataclass(frozen=True)
class WorkerTimes:
    """The seconds of a worker by activity. Exchanges that overlapped with computing aren't included."""

    compute: float = 0.0
    wait: float = 0.0
    exchange: float = 0.0
    test: float = 0.0
    save: float = 0.0
    other: float = 0.0

    @property
    def total(self) -> float:
        """The sum of all seconds."""
        return float(sum(astuple(self)))


@dataclass(frozen=True)
class OverlappedTimes:
    """The seconds of exchanges that overlapped with computing: of shards, and of pushes to a shared variable."""

    broadcast: float
    reduce: float
    prepare: float
    push: float


@dataclass(frozen=True)
class WorkerSummary:
    """The summary of one worker."""

    rank: int
    host: str  # in the last round
    rounds: int
    iterations: int
    times: WorkerTimes
    beside: OverlappedTimes
    bytes: int  # sent and received bytes
    divergence_mean: float | None
    divergence_last: float | None


@dataclass(frozen=True)
class LoggedScore:
    """The best and the last value of a test net's output. The best loss is the lowest."""

    name: str
    best: float
    best_iteration: int
    last: float
    last_iteration: int


@dataclass(frozen=True)
class RunSummary:
    """The summary of a run so far."""

    rounds: int
    iteration: int  # the last iteration that a worker reached
    seconds: float  # without pauses
    iterations_per_second: float  # of all workers together
    workers: tuple[WorkerSummary, ...]
    tests: tuple[LoggedScore, ...]


class Elapsed:
    """The elapsed time of a run, as a function of clock time. Pauses before the run was resumed don't count."""

    def __init__(self, records: Iterable[RoundRecord]) -> None:
        starts, stops = [], [float("-inf")]
        for record in sorted(records, key=lambda record: record.start):
            if record.start > stops[-1]:
                starts.append(record.start)
                stops.append(record.stop)
            else:
                stops[-1] = max(stops[-1], record.stop)
        lengths = np.subtract(stops[1:], starts)
        self._clock = np.column_stack([starts, stops[1:]]).ravel()
        self._elapsed = np.repeat(np.concatenate([[0.0], np.cumsum(lengths)]), 2)[1:-1]

    def __call__(self, time: float) -> float:
        """Return the elapsed seconds at a clock time."""
        return float(np.interp(time, self._clock, self._elapsed))


def summarize(records: Sequence[RoundRecord]) -> RunSummary:
    """Summarize a run from its records. There must be at least one."""
    seconds = Elapsed(records)(max(record.stop for record in records))
    by_rank = defaultdict(list)
    for record in records:
        by_rank[record.rank].append(record)
    steps = sum(record.steps for record in records)
    return RunSummary(
        rounds=len({record.number for record in records}),
        iteration=max(record.iteration for record in records),
        seconds=seconds,
        iterations_per_second=steps / seconds if seconds else 0.0,
        workers=tuple(_summary_of_worker(by_rank[rank]) for rank in sorted(by_rank)),
        tests=_logged_scores(records),
    )


def sum_times(times: Iterable[WorkerTimes]) -> WorkerTimes:
    """Return the sum of several workers' times."""
    return WorkerTimes(*(sum(column) for column in zip(*map(astuple, times), strict=True)))


def times_of(record: RoundRecord) -> WorkerTimes:
    """Return the times of a round by activity.

    Waiting and exchanging can overlap with computing. Only the part that fits into the rest of the round counts.
    """
    test, save = _seconds_spent(record, Activity.TEST), _seconds_spent(record, Activity.SAVE)
    rest = max(0.0, record.stop - record.start - record.compute - test - save)
    fits = min(1.0, rest / (record.wait + record.exchange or 1.0))
    wait, exchange = record.wait * fits, record.exchange * fits
    return WorkerTimes(record.compute, wait, exchange, test, save, max(0.0, rest - wait - exchange))


def _summary_of_worker(records: Sequence[RoundRecord]) -> WorkerSummary:
    divergences = [record.divergence for record in records if record.divergence is not None]
    overlapped = (Activity.BROADCAST, Activity.REDUCE, Activity.PREPARE, Activity.PUSH)
    return WorkerSummary(
        rank=records[0].rank,
        host=records[-1].host,
        rounds=len(records),
        iterations=sum(record.steps for record in records),
        times=sum_times(map(times_of, records)),
        beside=OverlappedTimes(
            *(sum(_seconds_spent(record, activity) for record in records) for activity in overlapped)
        ),
        bytes=sum(record.bytes for record in records),
        divergence_mean=fmean(divergences) if divergences else None,
        divergence_last=divergences[-1] if divergences else None,
    )


def _seconds_spent(record: RoundRecord, activity: Activity) -> float:
    return sum(span.stop - span.start for span in record.spans if span.activity is activity)


def _logged_scores(records: Sequence[RoundRecord]) -> tuple[LoggedScore, ...]:
    scores_by_name = defaultdict(list)
    for record in records:
        for name, value in record.accuracy.items():
            scores_by_name[name].append((value, record.iteration))
    return tuple(_logged_score(name, scores) for name, scores in scores_by_name.items())


def _logged_score(name: str, scores: Sequence[tuple[float, int]]) -> LoggedScore:
    numbers = [score for score in scores if score[0] == score[0]] or scores  # NaN is never the best
    best = (min if less_is_better(name) else max)(numbers, key=lambda score: score[0])
    return LoggedScore(name, *best, *scores[-1])


class RunCurves:
    """The curves of a run. Each round is plotted at the iteration and time at which its first worker finished."""

    def __init__(self, records: Sequence[RoundRecord]) -> None:
        self._records, self._elapsed = records, Elapsed(records)
        self._rounds = [
            list(records_of_round) for _, records_of_round in groupby(records, key=lambda record: record.number)
        ]
        first = records[0]
        begin = (first.iteration - first.steps, self._elapsed(first.start))
        ends = [self._end_of_round(records_of_round[0]) for records_of_round in self._rounds]
        # The first worker may change between rounds, so times could decrease.
        self.edges = np.maximum.accumulate([begin, *ends])

    def tests(self) -> dict[str, MomentCurve]:
        """Return the curves of tests by output name."""
        curves: dict[str, MomentCurve] = defaultdict(dict)
        for record in self._records:
            for name, value in record.accuracy.items():
                curves[name][self._end_of_round(record)] = value
        return curves

    def at_times(self, values: Mapping[float, float]) -> dict[float, float]:
        """Convert values by iteration to values by second."""
        seconds = np.interp(sorted(values), *self.edges.T)
        return {float(second): values[iteration] for iteration, second in zip(sorted(values), seconds, strict=True)}

    def divergences(self) -> dict[Moment, list[float]]:
        """Return the workers' distances from their mean after each round."""
        divergences = {}
        for records in self._rounds:
            distances = [record.divergence for record in records if record.divergence is not None]
            if distances:
                divergences[self._end_of_round(records[0])] = distances
        return divergences

    def _end_of_round(self, record: RoundRecord) -> Moment:
        return record.iteration, self._elapsed(record.stop)
