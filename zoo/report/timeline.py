"""The timeline of the workers in the last rounds, including exchanges that overlapped with computing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from netdsl.charts import AxisScale, Tick, nice_numbers, number
from netdsl.distributed.run_log import Activity, RoundRecord, Span
from zoo.logs.summary import Elapsed

UNITS = 1000  # units of a row's width
_OVERLAPPED = (Activity.BROADCAST, Activity.REDUCE, Activity.PREPARE, Activity.PUSH)  # activities with separate lanes
_MAX_SPANS = 60  # maximum number of distinguishable activities of a worker
_RECENT_ROUNDS = 50  # number of rounds whose median length is the usual length
_LONG_FACTOR = 5  # maximum length, as a multiple of the usual one; a longer pause or test would shrink all the rest
_ROW, _LANE = 26, 12  # in pixels
_PALEST = 0.35  # opacity of the palest shard


@dataclass(frozen=True)
class TimeWindow:
    """An interval of clock time."""

    start: float
    stop: float

    def shows(self, item: Span | RoundRecord) -> bool:
        """Return whether a span or a round overlaps with the window."""
        return item.start < self.stop and item.stop > self.start


@dataclass(frozen=True)
class Bar:
    """A span of time in a worker's row. Horizontal values are in the row's units, and vertical ones in pixels."""

    left: float
    width: float
    top: int
    height: int
    activity: Activity
    shade: float  # 1 is the full color; later shards are paler
    text: str


@dataclass(frozen=True)
class WorkerRow:
    """The activities of a worker, and the starts of its rounds."""

    rank: int
    bars: tuple[Bar, ...]
    rounds: tuple[float, ...]


@dataclass(frozen=True)
class Timeline:
    """The rows of all workers over the same interval."""

    rows: tuple[WorkerRow, ...]
    row_height: int
    activities: tuple[Activity, ...]
    shards: int
    numbers: tuple[int, int]  # of the first and the last round
    elapsed: float  # seconds from the start of the run to the start of the timeline
    ticks: tuple[Tick, ...]


def timeline_of(records: Sequence[RoundRecord]) -> Timeline:
    """Return the timeline of the last rounds."""
    window = last_rounds(records)
    shown = [record for record in records if window.shows(record)]
    return _Drawer(window, shown, sorted({record.rank for record in records})).timeline(Elapsed(records)(window.start))


def last_rounds(records: Sequence[RoundRecord]) -> TimeWindow:
    """Return an interval that contains the last rounds of usual length, with few enough activities to be
    distinguishable. The worker with the most rounds decides."""
    by_rank = defaultdict(list)
    for record in records:
        by_rank[record.rank].append(record)
    rounds = max(by_rank.values(), key=len)
    last = rounds[-1]
    lengths = [later.start - earlier.start for earlier, later in pairwise(rounds[-_RECENT_ROUNDS:])]
    longest = _LONG_FACTOR * median(lengths) if lengths else last.stop - last.start
    start = last.start if len(last.spans) <= _MAX_SPANS else last.spans[-_MAX_SPANS].start
    spans = len(last.spans)
    for earlier, later in reversed(list(pairwise(rounds))):
        spans += len(earlier.spans)
        if spans > _MAX_SPANS or later.start - earlier.start > longest:
            break
        start = earlier.start
    return TimeWindow(start, min(max(record.stop for record in records), last.start + longest))


class _Drawer:
    """Draws rows with each worker's activities, and thin lanes below for overlapping exchanges."""

    def __init__(self, window: TimeWindow, records: Sequence[RoundRecord], ranks: Sequence[int]) -> None:
        self._window, self._records, self._ranks = window, records, ranks
        self._scale = AxisScale(0.0, window.stop - window.start or 1.0)
        spans = [span for record in records for span in record.spans if span.stop > span.start and window.shows(span)]
        self._activities = [activity for activity in Activity if any(span.activity is activity for span in spans)]
        self._lanes = [activity for activity in self._activities if activity in _OVERLAPPED]
        self._shards = 1 + max((span.shard for span in spans if span.shard is not None), default=-1)

    def timeline(self, elapsed: float) -> Timeline:
        """Return all rows. The first span begins `elapsed` seconds after the start of the run."""
        numbers = [record.number for record in self._records] or [0]
        ticks = tuple(Tick(100 * self._scale(time), number(time)) for time in nice_numbers(0.0, self._scale.high))
        return Timeline(
            tuple(self._worker_row(rank) for rank in self._ranks),
            _ROW + len(self._lanes) * _LANE,
            tuple(self._activities),
            self._shards,
            (min(numbers), max(numbers)),
            elapsed,
            ticks,
        )

    def _worker_row(self, rank: int) -> WorkerRow:
        records = [record for record in self._records if record.rank == rank]
        starts = tuple(self._place_in_row(record.start) for record in records if record.start >= self._window.start)
        return WorkerRow(rank, tuple(self._bars_of_records(records)), starts)

    def _bars_of_records(self, records: Sequence[RoundRecord]) -> Iterator[Bar]:
        for activity in self._activities:  # computing is drawn first, and waiting within an iteration on top
            for record in records:
                for span in record.spans:
                    if span.activity is activity and self._window.shows(span):
                        yield self._bar_of_span(span, record)

    def _bar_of_span(self, span: Span, record: RoundRecord) -> Bar:
        left, right = (self._place_in_row(time) for time in (span.start, span.stop))
        is_lane = span.activity in self._lanes
        top = _ROW + self._lanes.index(span.activity) * _LANE if is_lane else 0
        shade = 1 - (1 - _PALEST) * (span.shard or 0) / max(1, self._shards - 1)
        shard = "" if span.shard is None else f" of shard {span.shard}"
        text = f"worker {record.rank}, round {record.number}: {span.activity.value}{shard}, "
        text += f"{number(span.stop - span.start)} s"
        return Bar(left, right - left, top, _LANE - 2 if is_lane else _ROW - 2, span.activity, shade, text)

    def _place_in_row(self, time: float) -> float:
        """Return the position of a time in a row. Times outside the window are at its ends."""
        return UNITS * self._scale(min(max(time, self._window.start), self._window.stop) - self._window.start)
