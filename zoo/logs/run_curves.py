"""The curves of a run with several workers, over iterations and over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np

from netdsl.distributed.run_log import RoundRecord
from zoo.logs.summary import Elapsed

Moment = tuple[int, float]  # iterations and seconds of the run
MomentCurve = dict[Moment, float]


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

    def tests(self) -> dict[str, MomentCurve]:
        """The curves of tests, by the names of outputs."""
        curves: dict[str, MomentCurve] = defaultdict(dict)
        for record in self._records:
            for name, value in record.accuracy.items():
                curves[name][self._end(record)] = value
        return curves

    def at_times(self, values: Mapping[float, float]) -> dict[float, float]:
        """Values by iteration as values by second."""
        seconds = np.interp(sorted(values), *self.edges.T)
        return {float(second): values[iteration] for iteration, second in zip(sorted(values), seconds, strict=True)}

    def divergences(self) -> dict[Moment, list[float]]:
        """The workers' distances from their mean after each round."""
        divergences = {}
        for records in self._rounds:
            distances = [record.divergence for record in records if record.divergence is not None]
            if distances:
                divergences[self._end(records[0])] = distances
        return divergences

    def _end(self, record: RoundRecord) -> Moment:
        return record.iteration, self._elapsed(record.stop)
