"""The timeline of workers in the last rounds, with the exchanges that overlapped with computing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from netdsl.distributed.record import Activity, RoundRecord, Span
from zoo.logs.drawing import COLOURS, pyplot, save
from zoo.logs.summary import Elapsed

_OVERLAPPED = (Activity.BROADCAST, Activity.REDUCE, Activity.PREPARE, Activity.PUSH)  # each has a lane of its own
_MAX_SPANS = 60  # of one worker, that can still be distinguished
_RECENT_ROUNDS = 50  # whose median length is the usual one
_LONG_FACTOR = 5  # times the usual length: a longer pause or test would make everything else too small
_ROW, _LANE, _GAP = 0.36, 0.16, 0.16  # inches
_WIDE, _TALLEST = 13.0, 100.0
_LEFT, _RIGHT, _ABOVE, _BELOW, _LEGEND = 0.9, 0.2, 0.4, 1.05, 0.55  # margins, and the distance of the legend
_MIN_NUMBERED_WIDTH = 0.012  # of the whole width; a narrower bar has no room for a number


@dataclass(frozen=True)
class TimeWindow:
    """An interval of time, by the clock."""

    start: float
    stop: float

    def shows(self, item: Span | RoundRecord) -> bool:
        """Whether a span or a round overlaps with the window."""
        return item.start < self.stop and item.stop > self.start


def draw_rounds(records: Sequence[RoundRecord], path: str | Path) -> None:
    """Write a PNG with the timeline of the last rounds."""
    window, ranks = last_rounds(records), sorted({record.rank for record in records})
    chart = _Chart(window, [record for record in records if window.shows(record)], ranks)
    chart.draw()
    chart.label(Elapsed(records)(window.start))
    save(chart.figure, path)


def last_rounds(records: Sequence[RoundRecord]) -> TimeWindow:
    """The window of the last rounds of usual length that can be distinguished, of the worker with the most rounds."""
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


class _Chart:
    """A chart with a row for each worker's activities and thin lanes for overlapping exchanges."""

    def __init__(self, window: TimeWindow, records: Sequence[RoundRecord], ranks: Sequence[int]) -> None:
        self._window, self._records, self._ranks = window, records, ranks
        spans = [span for record in records for span in record.spans if span.stop > span.start and window.shows(span)]
        self._activities = [activity for activity in Activity if any(span.activity is activity for span in spans)]
        self._lanes = [activity for activity in self._activities if activity in _OVERLAPPED]
        self._shards = 1 + max((span.shard for span in spans if span.shard is not None), default=-1)
        self._height = _ROW + len(self._lanes) * _LANE + _GAP
        self.figure, self._axis = pyplot().subplots()

    def draw(self) -> None:
        """Draw all workers."""
        for row, rank in enumerate(self._ranks):
            self._draw_worker(rank, row * self._height)
        middles = [row * self._height + _ROW / 2 for row in range(len(self._ranks))]
        self._axis.set_yticks(middles, [f"worker {rank}" for rank in self._ranks])
        self._axis.set_ylim(len(self._ranks) * self._height, -_GAP)
        self._axis.set_xlim(0, self._window.stop - self._window.start or 1.0)

    def label(self, elapsed: float) -> None:
        """Add title, axis label and legend; the chart begins `elapsed` seconds after the start of the run."""
        numbers = [record.number for record in self._records] or [0]
        self._axis.set_title(f"rounds {min(numbers)} to {max(numbers)}, from {elapsed:,.4g} s on; | begins a round")
        self._axis.set_xlabel("seconds")
        patches = [self._patch(COLOURS[activity], activity.value) for activity in self._activities]
        if self._shards:
            patches += [self._patch(self._shade("black", shard), f"shard {shard}") for shard in range(self._shards)]
        place = (0.5, -_LEGEND / self._set_sizes())
        self._axis.legend(handles=patches, ncols=len(patches) or 1, loc="upper center", bbox_to_anchor=place)

    def _set_sizes(self) -> float:
        """Set the sizes of figure and margins; the result is the height of the axes."""
        height = min(_TALLEST, _GAP + self._height * len(self._ranks))
        whole = _ABOVE + height + _BELOW
        self.figure.set_size_inches(_WIDE, whole)
        self.figure.subplots_adjust(_LEFT / _WIDE, _BELOW / whole, 1 - _RIGHT / _WIDE, 1 - _ABOVE / whole)
        return height

    def _draw_worker(self, rank: int, top: float) -> None:
        records = [record for record in self._records if record.rank == rank]
        for activity in self._activities:  # computing comes first, so that waiting within an iteration is drawn over it
            spans = [span for record in records for span in record.spans if span.activity is activity]
            if activity in self._lanes:
                lane = top + _ROW + self._lanes.index(activity) * _LANE
                self._draw_spans(spans, lane, _LANE * 0.9)
                self._number(spans, lane + _LANE / 2)
            else:
                self._draw_spans(spans, top, _ROW)
        starts = [record.start - self._window.start for record in records]
        self._axis.vlines(starts, top - _GAP / 3, top + _ROW, color="black", linewidth=0.8)

    def _draw_spans(self, spans: Sequence[Span], top: float, height: float) -> None:
        places = [(span.start - self._window.start, span.stop - span.start) for span in spans]
        colours = [self._shade(COLOURS[span.activity], span.shard or 0) for span in spans]
        self._axis.broken_barh(places, (top, height), facecolors=colours, edgecolor="white", linewidth=0.3)

    def _number(self, spans: Sequence[Span], middle: float) -> None:
        """Write the numbers of shards where there is room."""
        whole = self._window.stop - self._window.start
        for span in spans:
            start, stop = max(span.start, self._window.start), min(span.stop, self._window.stop)
            if span.shard is not None and stop - start > _MIN_NUMBERED_WIDTH * whole:
                where = (start + stop) / 2 - self._window.start
                self._axis.text(where, middle, span.shard, fontsize=6, ha="center", va="center_baseline")

    def _shade(self, colour: str, shard: int) -> tuple[str, float]:
        """The colour of a shard; higher numbers are lighter."""
        return colour, 1 - 0.65 * shard / max(1, self._shards - 1)

    @staticmethod
    def _patch(colour: Any, label: str) -> Any:
        return pyplot().Rectangle((0, 0), 1, 1, color=colour, label=label)
