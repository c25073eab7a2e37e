"""The timeline of the last rounds: the rounds that it shows, and its content."""

from __future__ import annotations

import pytest

from netdsl.distributed.run_log import Activity, RoundRecord, Span
from tests.zoo.logs.conftest import averaging, shards
from zoo.report.timeline import Bar, TimeWindow, last_rounds, timeline_of


def test_all_rounds_are_shown_if_they_can_be_distinguished() -> None:
    assert last_rounds(averaging(rounds=4)) == TimeWindow(1000.0, 1020.0)


def test_only_the_last_of_many_rounds_are_shown() -> None:
    # Three spans of the first worker per round; sixty rounds fit.
    assert last_rounds(averaging(rounds=100, begin=0.0)) == TimeWindow(400.0, 500.0)


def test_only_the_last_of_many_iterations_are_shown() -> None:
    iterations = [Span(list(Activity)[each % 2], float(each), each + 1.0) for each in range(100)]
    assert last_rounds([RoundRecord(1, 0, 0.0, 100.0, spans=iterations)]) == TimeWindow(40.0, 100.0)


def test_nothing_before_a_pause_is_shown() -> None:
    records = averaging(rounds=3) + averaging(rounds=3, begin=90_000.0, first=4)
    assert last_rounds(records) == TimeWindow(90_000.0, 90_015.0)


def test_a_long_test_at_the_end_is_truncated() -> None:
    records = averaging(rounds=5)
    records[-3].stop = 9000.0
    assert last_rounds(records) == TimeWindow(1000.0, 1020.0 + 5 * 5)


def bars(records: list[RoundRecord]) -> list[Bar]:
    return [bar for row in timeline_of(records).rows for bar in row.bars]


def test_every_activity_has_a_bar_as_long_as_it_took() -> None:
    timeline = timeline_of(averaging(rounds=2))
    assert timeline.activities == (Activity.COMPUTE, Activity.EXCHANGE, Activity.TEST)
    assert (timeline.numbers, timeline.elapsed, timeline.shards) == ((1, 2), 0.0, 0)
    first = timeline.rows[0]
    assert [(bar.left, bar.width) for bar in first.bars if bar.activity is Activity.COMPUTE] == [(0, 200), (500, 200)]
    assert first.rounds == (0, 500)
    assert first.bars[0].text == "worker 0, round 1: compute, 2 s"
    assert [tick.text for tick in timeline.ticks] == ["0", "2", "4", "6", "8", "10"]


def test_waits_within_an_iteration_are_drawn_on_top_of_it() -> None:
    spans = [Span(Activity.EXCHANGE, 2.0, 8.0), Span(Activity.COMPUTE, 0.0, 10.0)]
    found = bars([RoundRecord(1, 0, 0.0, 10.0, spans=spans)])
    assert [bar.activity for bar in found] == [Activity.COMPUTE, Activity.EXCHANGE]


def test_shards_are_distinguished_by_shade() -> None:
    spans = [Span(Activity.REDUCE, float(each), each + 1.0, each) for each in range(3)]
    shades = [bar.shade for bar in bars([RoundRecord(1, 0, 0.0, 3.0, spans=spans)])]
    assert shades[0] == 1 and shades == sorted(set(shades), reverse=True)


def test_overlapped_exchanges_have_their_own_lanes() -> None:
    assert timeline_of(shards(workers=3)).row_height > timeline_of(averaging(workers=3)).row_height
    tops = {bar.activity: bar.top for bar in bars(shards())}
    assert len(set(tops.values())) == len(tops) == 4 and tops[Activity.COMPUTE] == 0


def test_spans_beyond_the_window_are_clipped() -> None:
    spans = [Span(Activity.COMPUTE, 0.0, 3.0), Span(Activity.SAVE, 3.0, 500.0)]
    records = [RoundRecord(1, 0, 0.0, 3.0, spans=spans[:1]), RoundRecord(2, 0, 3.0, 500.0, spans=spans[1:])]
    assert all(bar.left >= 0 and bar.left + bar.width <= 1000.001 for bar in bars(records))


@pytest.mark.parametrize(
    "record", [RoundRecord(1, 0, 5.0, 5.0), RoundRecord(1, 0, 5.0, 6.0), RoundRecord(1, 0, 1.7e9, 1.7e9 + 1e-6)]
)
def test_a_nearly_empty_run_is_drawn(record: RoundRecord) -> None:
    assert len(timeline_of([record]).rows) == 1
