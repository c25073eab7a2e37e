"""A picture of what every worker did when in the last rounds, with the exchanges that went on beside computing."""

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

_BESIDE = (Activity.BROADCAST, Activity.REDUCE, Activity.PREPARE)  # each in a lane of its own
_SPANS = 60  # of one worker, which can still be told apart
_RECENT = 50  # rounds, whose length is the usual one
_LONG = 5  # times as long as usual: a pause or a long test, beside which nothing else could be seen
_ROW, _LANE, _GAP = 0.36, 0.16, 0.16  # inches
_WIDE, _TALLEST = 13.0, 100.0
_LEFT, _RIGHT, _ABOVE, _BELOW, _LEGEND = 0.9, 0.2, 0.4, 1.05, 0.55  # margins, and how far below the legend is
_READABLE = 0.012  # of the width, from which on a bar has room for a number


@dataclass(frozen=True)
class TimeWindow:
    """From when to when, by the clock."""

    start: float
    stop: float

    def shows(self, of: Span | RoundRecord) -> bool:
        """Whether something of it is inside."""
        return of.start < self.stop and of.stop > self.start


def draw_rounds(records: Sequence[RoundRecord], path: str | Path) -> None:
    """Write a PNG of the last rounds."""
    window, ranks = last_rounds(records), sorted({record.rank for record in records})
    chart = _Chart(window, [record for record in records if window.shows(record)], ranks)
    chart.draw()
    chart.label(Elapsed(records)(window.start))
    save(chart.figure, path)


def last_rounds(records: Sequence[RoundRecord]) -> TimeWindow:
    """The last rounds of usual length, as many as can be told apart, by the worker that has done most of them."""
    by_rank = defaultdict(list)
    for record in records:
        by_rank[record.rank].append(record)
    rounds = max(by_rank.values(), key=len)
    last = rounds[-1]
    lengths = [later.start - earlier.start for earlier, later in pairwise(rounds[-_RECENT:])]
    longest = _LONG * median(lengths) if lengths else last.stop - last.start
    start = last.start if len(last.spans) <= _SPANS else last.spans[-_SPANS].start
    spans = len(last.spans)
    for earlier, later in reversed(list(pairwise(rounds))):
        spans += len(earlier.spans)
        if spans > _SPANS or later.start - earlier.start > longest:
            break
        start = earlier.start
    return TimeWindow(start, min(max(record.stop for record in records), last.start + longest))


class _Chart:
    """Workers below each other, each with a row for what it did and thin lanes for what went on beside."""

    def __init__(self, window: TimeWindow, records: Sequence[RoundRecord], ranks: Sequence[int]) -> None:
        self._window, self._records, self._ranks = window, records, ranks
        spans = [span for record in records for span in record.spans if span.stop > span.start and window.shows(span)]
        self._activities = [activity for activity in Activity if any(span.activity is activity for span in spans)]
        self._lanes = [activity for activity in self._activities if activity in _BESIDE]
        self._shards = 1 + max((span.shard or 0 for span in spans), default=0)
        self._height = _ROW + len(self._lanes) * _LANE + _GAP
        self.figure, self._axis = pyplot().subplots()

    def draw(self) -> None:
        """Draw everybody."""
        for row, rank in enumerate(self._ranks):
            self._draw_worker(rank, row * self._height)
        middles = [row * self._height + _ROW / 2 for row in range(len(self._ranks))]
        self._axis.set_yticks(middles, [f"worker {rank}" for rank in self._ranks])
        self._axis.set_ylim(len(self._ranks) * self._height, -_GAP)
        self._axis.set_xlim(0, self._window.stop - self._window.start or 1.0)

    def label(self, elapsed: float) -> None:
        """Say what is what; and after how many seconds of the run this begins."""
        numbers = [record.number for record in self._records] or [0]
        self._axis.set_title(f"rounds {min(numbers)} to {max(numbers)}, from {elapsed:,.4g} s on; | begins a round")
        self._axis.set_xlabel("seconds")
        patches = [self._patch(COLOURS[activity], activity.value) for activity in self._activities]
        if self._lanes:
            patches += [self._patch(self._shade("black", shard), f"shard {shard}") for shard in range(self._shards)]
        place = (0.5, -_LEGEND / self._framed())
        self._axis.legend(handles=patches, ncols=len(patches) or 1, loc="upper center", bbox_to_anchor=place)

    def _framed(self) -> float:
        """Give everything its room; how high the axes are then."""
        height = min(_TALLEST, _GAP + self._height * len(self._ranks))
        whole = _ABOVE + height + _BELOW
        self.figure.set_size_inches(_WIDE, whole)
        self.figure.subplots_adjust(_LEFT / _WIDE, _BELOW / whole, 1 - _RIGHT / _WIDE, 1 - _ABOVE / whole)
        return height

    def _draw_worker(self, rank: int, top: float) -> None:
        records = [record for record in self._records if record.rank == rank]
        for activity in self._activities:  # computing first: what an iteration waits for is drawn upon it
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
        """Write the shards' numbers where there is room."""
        whole = self._window.stop - self._window.start
        for span in spans:
            start, stop = max(span.start, self._window.start), min(span.stop, self._window.stop)
            if stop - start > _READABLE * whole:
                where = (start + stop) / 2 - self._window.start
                self._axis.text(where, middle, span.shard, fontsize=6, ha="center", va="center_baseline")

    def _shade(self, colour: str, shard: int) -> tuple[str, float]:
        """The higher a shard's number, the lighter."""
        return colour, 1 - 0.65 * shard / max(1, self._shards - 1)

    @staticmethod
    def _patch(colour: Any, label: str) -> Any:
        return pyplot().Rectangle((0, 0), 1, 1, color=colour, label=label)
