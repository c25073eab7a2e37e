"""A run in numbers."""

from __future__ import annotations

import math

import pytest

from netdsl.distributed.run_log import Activity, RoundRecord, Span
from tests.zoo.logs.conftest import averaging, shards
from zoo.logs.summary import (
    Elapsed,
    LoggedScore,
    OverlappedTimes,
    RunCurves,
    WorkerTimes,
    less_is_better,
    summarize,
    times_of,
)


def test_every_second_of_a_worker_is_accounted_for() -> None:
    found = summarize(averaging(rounds=4))
    times = [worker.times for worker in found.workers]
    assert times == [
        WorkerTimes(compute=8.0, wait=8.0, exchange=2.0, test=2.0),
        WorkerTimes(compute=12.0, wait=4.0, exchange=2.0, other=2.0),
        WorkerTimes(compute=16.0, wait=0.0, exchange=2.0, other=2.0),
    ]
    assert [each.total for each in times] == [20.0, 20.0, 20.0]


def test_a_whole_run_is_summarized() -> None:
    found = summarize(averaging(rounds=4))
    assert (found.rounds, found.iteration, found.seconds) == (4, 40, 20.0)
    assert found.iterations_per_second == 3 * 40 / 20
    assert [(each.rank, each.rounds, each.iterations, each.bytes) for each in found.workers] == [
        (rank, 4, 40, 8_000_000) for rank in range(3)
    ]
    assert found.workers[1].divergence_mean == pytest.approx(1 + (1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)
    assert found.workers[1].divergence_last == 1 + 1 / 4


def test_the_best_accuracy_is_the_highest_and_the_best_loss_the_lowest() -> None:
    assert summarize(averaging(rounds=4)).tests == (
        LoggedScore("accuracy", 1.0, 30, 0.9, 40),
        LoggedScore("loss", 0.25, 40, 0.25, 40),
    )


def test_nan_is_never_the_best() -> None:
    records = averaging(rounds=3, workers=1)
    records[0].accuracy = {"loss": math.nan}
    records[2].accuracy = {"accuracy": math.nan}
    found = {test.name: test for test in summarize(records).tests}
    assert found["loss"] == LoggedScore("loss", 0.5, 20, 0.5, 20)
    assert (found["accuracy"].best, found["accuracy"].best_iteration) == (0.9, 20)
    assert math.isnan(found["accuracy"].last)


@pytest.mark.parametrize(
    ("output", "is_loss"),
    [("accuracy", False), ("loss", True), ("loss3/top-1", False), ("loss3/loss", True), ("Error@1", True)],
)
def test_losses_are_recognized_among_outputs(output: str, is_loss: bool) -> None:
    assert less_is_better(output) == is_loss


def test_overlapped_exchanges_cost_no_time() -> None:
    found = summarize(shards(rounds=6)).workers
    assert found[0].times == WorkerTimes(compute=12.0)
    assert [each.beside for each in found[:2]] == [
        OverlappedTimes(6.0, 9.0, 3.0, 0.0),
        OverlappedTimes(6.0, 9.0, 0.0, 0.0),
    ]


def test_partly_overlapped_exchanges_count_in_part() -> None:
    spans = [Span(Activity.SAVE, 9.0, 10.0)]
    found = times_of(RoundRecord(1, 0, 0.0, 10.0, compute=6.0, wait=4.0, exchange=2.0, spans=spans))
    assert found == WorkerTimes(compute=6.0, wait=2.0, exchange=1.0, save=1.0)


def test_a_pause_does_not_count_as_time() -> None:
    records = averaging(rounds=2) + averaging(rounds=3, begin=9000.0, first=3)
    found = summarize(records)
    assert (found.seconds, found.iterations_per_second) == (25.0, 6.0)
    assert list(map(Elapsed(records), (1000.0, 1007.0, 5000.0, 9000.0, 9015.0))) == [0.0, 7.0, 10.0, 10.0, 25.0]


def test_time_counts_while_any_worker_is_in_a_round() -> None:
    records = [
        RoundRecord(1, 0, 2.0, 9.0),
        RoundRecord(1, 1, 1.0, 4.0),
        RoundRecord(2, 1, 5.0, 6.0),
        RoundRecord(2, 0, 10.0, 11.0),
    ]
    assert Elapsed(records)(11.0) == 9.0


def test_a_run_of_no_duration_is_summarized() -> None:
    found = summarize([RoundRecord(1, 0, 5.0, 5.0)])
    assert (found.seconds, found.iterations_per_second, found.tests) == (0.0, 0.0, ())
    assert found.workers[0].divergence_mean is None


def test_tests_are_placed_where_their_round_ended() -> None:
    found = RunCurves(averaging(rounds=3)).tests()
    assert found["accuracy"] == {(10, 5.0): 0.8, (20, 10.0): 0.9, (30, 15.0): 1.0}
    assert list(found["loss"].values()) == [1, 1 / 2, 1 / 3]


def test_displayed_values_are_placed_between_the_ends_of_rounds() -> None:
    resumed = averaging(rounds=2) + averaging(rounds=1, begin=9000.0, first=3)
    assert RunCurves(resumed).at_times({15: 0.5, 0: 2.5, 28: 0.25}) == {0.0: 2.5, 7.5: 0.5, 14.0: 0.25}


def test_divergence_is_that_of_all_workers_of_a_round() -> None:
    records = averaging(rounds=2, workers=2)
    records[2].divergence = None
    assert RunCurves(records).divergences() == {(10, 5.0): [1.0, 2.0], (20, 10.0): [1.5]}


def test_edges_never_go_back_for_independent_workers() -> None:
    records = [
        RoundRecord(1, 0, 0.0, 8.0, 20, 20),
        RoundRecord(2, 1, 3.0, 6.0, 10, 5),
        RoundRecord(3, 0, 9.0, 12.0, 30, 10),
    ]
    assert RunCurves(records).edges.tolist() == [[0, 0], [20, 8], [20, 8], [30, 11]]
