"""The picture of the last rounds: which ones it shows, and what is in it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image
from zoo.logs.gantt import TimeWindow, draw_rounds, last_rounds

from netdsl.distributed.record import Activity, RoundRecord, Span
from tests.zoo.logs.conftest import averaging, shards
from zoo.logs.drawing import COLOURS


def drawn(records: list[RoundRecord], folder: Path) -> np.ndarray:
    draw_rounds(records, folder / "rounds.png")
    with Image.open(folder / "rounds.png") as image:
        assert image.format == "PNG"
        return np.asarray(image.convert("RGB"))


def amount(pixels: np.ndarray, activity: Activity) -> int:
    """How many pixels have its colour."""
    return int((pixels == np.round(np.multiply(255, to_rgb(COLOURS[activity])))).all(-1).sum())


def test_all_rounds_are_shown_if_they_can_be_told_apart() -> None:
    assert last_rounds(averaging(rounds=4)) == TimeWindow(1000.0, 1020.0)


def test_of_many_rounds_the_last_are_shown() -> None:
    # Three spans of the first worker each, of which sixty fit.
    assert last_rounds(averaging(rounds=100, begin=0.0)) == TimeWindow(400.0, 500.0)


def test_of_a_round_with_many_iterations_the_last_are_shown() -> None:
    iterations = [Span(list(Activity)[each % 2], float(each), each + 1.0) for each in range(100)]
    assert last_rounds([RoundRecord(1, 0, 0.0, 100.0, spans=iterations)]) == TimeWindow(40.0, 100.0)


def test_nothing_before_a_pause_is_shown() -> None:
    records = averaging(rounds=3) + averaging(rounds=3, begin=90_000.0, first=4)
    assert last_rounds(records) == TimeWindow(90_000.0, 90_015.0)


def test_a_long_test_at_the_end_is_cut() -> None:
    records = averaging(rounds=5)
    records[-3].stop = 9000.0
    assert last_rounds(records) == TimeWindow(1000.0, 1020.0 + 5 * 5)


def test_every_activity_has_its_colour(tmp_path: Path) -> None:
    one, two = drawn(averaging(rounds=2), tmp_path), drawn(shards(), tmp_path)
    for activity in (Activity.COMPUTE, Activity.EXCHANGE, Activity.TEST):
        assert amount(one, activity) > 1000
    for activity in (Activity.COMPUTE, Activity.BROADCAST, Activity.REDUCE, Activity.PREPARE):
        assert amount(two, activity) > 1000
    assert not amount(one, Activity.BROADCAST) and not amount(two, Activity.EXCHANGE)


def test_what_an_iteration_waits_for_is_drawn_upon_it(tmp_path: Path) -> None:
    spans = [Span(Activity.EXCHANGE, 2.0, 8.0), Span(Activity.COMPUTE, 0.0, 10.0)]
    found = drawn([RoundRecord(1, 0, 0.0, 10.0, spans=spans)], tmp_path)
    assert amount(found, Activity.EXCHANGE) > amount(found, Activity.COMPUTE)


def test_a_shard_is_told_by_its_shade(tmp_path: Path) -> None:
    spans = [Span(Activity.REDUCE, float(each), each + 1.0, each) for each in range(3)]
    found = drawn([RoundRecord(1, 0, 0.0, 3.0, spans=spans)], tmp_path)
    reds = found[found[..., 0] > found[..., 1] + 20.0]
    assert (np.unique(reds, axis=0, return_counts=True)[1] > 1000).sum() == 3


def test_workers_are_below_each_other_with_lanes_where_they_are_needed(tmp_path: Path) -> None:
    few, many = drawn(averaging(workers=1), tmp_path), drawn(averaging(workers=3), tmp_path)
    lanes = drawn(shards(workers=3), tmp_path)
    assert len(few) < len(many) < len(lanes)


@pytest.mark.parametrize(
    "record", [RoundRecord(1, 0, 5.0, 5.0), RoundRecord(1, 0, 5.0, 6.0), RoundRecord(1, 0, 1.7e9, 1.7e9 + 1e-6)]
)
def test_a_run_of_nearly_nothing(tmp_path: Path, record: RoundRecord) -> None:
    assert drawn([record], tmp_path).size
