"""The timeline of workers in the last rounds, with the exchanges that overlapped with computing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from netdsl.charts import AxisScale, Tick, nice_numbers, number
from netdsl.distributed.run_log import Activity, RoundRecord, Span
from zoo.logs.summary import Elapsed

UNITS = 1000  # of a row's width
_OVERLAPPED = (Activity.BROADCAST, Activity.REDUCE, Activity.PREPARE, Activity.PUSH)  # each has a lane of its own
_MAX_SPANS = 60  # of one worker, that can still be distinguished
_RECENT_ROUNDS = 50  # whose median length is the usual one
_LONG_FACTOR = 5  # times the usual length: a longer pause or test would make everything else too small
_ROW, _LANE = 26, 12  # pixels
_PALEST = 0.35  # of the shades of shards


@dataclass(frozen=True)
class TimeWindow:
    """An interval of time, by the clock."""

    start: float
    stop: float

    def shows(self, item: Span | RoundRecord) -> bool:
        """Return whether a span or a round overlaps with the window."""
        return item.start < self.stop and item.stop > self.start


@dataclass(frozen=True)
class Bar:
    """A span of time in a worker's row, in the row's units across and in pixels down."""

    left: float
    width: float
    top: int
    height: int
    activity: Activity
    shade: float  # 1 is the whole colour; later shards are paler
    text: str


@dataclass(frozen=True)
class WorkerRow:
    """What a worker did, and where its rounds began."""

    rank: int
    bars: tuple[Bar, ...]
    rounds: tuple[float, ...]


@dataclass(frozen=True)
class Timeline:
    """The rows of all workers over the same time."""

    rows: tuple[WorkerRow, ...]
    row_height: int
    activities: tuple[Activity, ...]
    shards: int
    numbers: tuple[int, int]  # of the first and the last round
    elapsed: float  # seconds from the start of the run to that of the timeline
    ticks: tuple[Tick, ...]


def timeline_of(records: Sequence[RoundRecord]) -> Timeline:
    """Return the timeline of the last rounds."""
    window = last_rounds(records)
    shown = [record for record in records if window.shows(record)]
    return _Drawer(window, shown, sorted({record.rank for record in records})).timeline(Elapsed(records)(window.start))


def last_rounds(records: Sequence[RoundRecord]) -> TimeWindow:
    """Return the window of the last rounds of usual length that can be distinguished, of the worker with the most
    rounds."""
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
    """Draws rows with each worker's activities, and thin lanes for overlapping exchanges below."""

    def __init__(self, window: TimeWindow, records: Sequence[RoundRecord], ranks: Sequence[int]) -> None:
        self._window, self._records, self._ranks = window, records, ranks
        self._scale = AxisScale(0.0, window.stop - window.start or 1.0)
        spans = [span for record in records for span in record.spans if span.stop > span.start and window.shows(span)]
        self._activities = [activity for activity in Activity if any(span.activity is activity for span in spans)]
        self._lanes = [activity for activity in self._activities if activity in _OVERLAPPED]
        self._shards = 1 + max((span.shard for span in spans if span.shard is not None), default=-1)

    def timeline(self, elapsed: float) -> Timeline:
        """Return all rows; the first span is `elapsed` seconds after the start of the run."""
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
        for activity in self._activities:  # computing comes first, so that waiting within an iteration is drawn over it
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
        """Return where a time is in a row; what is beyond the window is at its end."""
        return UNITS * self._scale(min(max(time, self._window.start), self._window.stop) - self._window.start)
