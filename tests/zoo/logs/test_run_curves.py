"""The curves of a run with several workers."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from netdsl.distributed.record import RoundRecord
from netdsl.solver import events
from netdsl.solver.event_log import EventLog
from tests.zoo.logs.conftest import averaging, shards
from zoo.logs.run_curves import RunCurves, curves_figure, displayed_losses, draw_curves


def height(folder: Path, records: list[RoundRecord], displayed: dict[int, float] | None = None) -> int:
    draw_curves(records, displayed or {}, folder / "curves.png")
    with Image.open(folder / "curves.png") as image:
        assert image.format == "PNG"
        return image.size[1]


def test_there_is_a_panel_for_all_that_is_known(tmp_path: Path) -> None:
    records = averaging()
    four = height(tmp_path, records)  # tests, losses, divergence, shares
    for record in records:
        record.divergence = None
    assert height(tmp_path, records) == four * 3 // 4
    assert height(tmp_path, shards()) == four // 4
    assert height(tmp_path, shards(), {0: 2.5, 3: 1.5}) == four // 2


def test_small_changes_look_small_over_iterations_and_over_time() -> None:
    records = averaging(rounds=2, workers=1)
    for record, accuracy, loss in zip(records, (0.983, 0.9805), (0.5, 0.4875), strict=True):
        record.accuracy = {"accuracy": accuracy, "loss": loss}
    for record in records:
        record.divergence = None
    tests = [axis.get_ylim() for axis in curves_figure(records, {}).axes]
    assert tests[:4] == [pytest.approx((0.895, 1.005))] * 2 + [pytest.approx((0, 0.525))] * 2


def test_tests_are_placed_where_their_round_ended() -> None:
    found = RunCurves(averaging(rounds=3)).tests()
    assert found["test accuracy"] == {(10, 5.0): 0.8, (20, 10.0): 0.9, (30, 15.0): 1.0}
    assert list(found["test loss"].values()) == [1, 1 / 2, 1 / 3]


def test_what_was_displayed_is_placed_between_the_ends_of_rounds() -> None:
    resumed = averaging(rounds=2) + averaging(rounds=1, begin=9000.0, first=3)
    assert RunCurves(resumed).at_times({15: 0.5, 0: 2.5, 28: 0.25}) == {(0, 0.0): 2.5, (15, 7.5): 0.5, (28, 14.0): 0.25}


def test_divergence_is_that_of_all_workers_of_a_round() -> None:
    records = averaging(rounds=2, workers=2)
    records[2].divergence = None
    assert RunCurves(records).divergences() == {(10, 5.0): [1.0, 2.0], (20, 10.0): [1.5]}


def test_shares_are_of_all_workers_time() -> None:
    course = RunCurves(averaging(rounds=2))
    # Of fifteen seconds: two, three and four; two, one and none; a half each; and a half by the first worker alone.
    assert course.shares() == pytest.approx(np.array([[9, 3, 1.5, 0.5, 0]] * 2) / 15)
    assert course.edges.tolist() == [[0, 0], [10, 5], [20, 10]]


def test_edges_never_go_back_where_workers_go_their_own_ways() -> None:
    records = [
        RoundRecord(1, 0, 0.0, 8.0, 20, 20),
        RoundRecord(2, 1, 3.0, 6.0, 10, 5),
        RoundRecord(3, 0, 9.0, 12.0, 30, 10),
    ]
    assert RunCurves(records).edges.tolist() == [[0, 0], [20, 8], [20, 8], [30, 11]]


def test_what_diverged_is_drawn(tmp_path: Path) -> None:
    records = averaging(rounds=3, workers=2)
    records[2].accuracy = {"accuracy": math.nan, "loss": math.inf}
    records[4].divergence, records[5].divergence = math.inf, math.nan
    assert height(tmp_path, records)


@pytest.mark.parametrize("record", [RoundRecord(1, 0, 5.0, 5.0), RoundRecord(1, 0, 5.0, 6.0, 3, 3)])
def test_a_run_of_nearly_nothing(tmp_path: Path, record: RoundRecord) -> None:
    assert height(tmp_path, [record])


def test_losses_come_from_the_log(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    assert displayed_losses(path) == {}
    lines = EventLog(path)
    for iteration, loss in ((0, 2.5), (20, 1.5), (20, 1.0), (40, math.nan)):
        lines(events.TrainingProgress(iteration, loss, 0.1, ()))
    lines(events.TestFinished(20, 0, 0.5, (events.Output("loss", (0.5,), 1.0),)))
    lines.close()
    with path.open("a") as file:
        file.write('5\n{"event": "train"}\n{"event": "tra')
    assert displayed_losses(path) == {0: 2.5, 20: 1.0}
