"""The curves of a run with several workers."""

from __future__ import annotations

from netdsl.distributed.run_log import RoundRecord
from tests.zoo.logs.conftest import averaging
from zoo.logs.run_curves import RunCurves


def test_tests_are_placed_where_their_round_ended() -> None:
    found = RunCurves(averaging(rounds=3)).tests()
    assert found["accuracy"] == {(10, 5.0): 0.8, (20, 10.0): 0.9, (30, 15.0): 1.0}
    assert list(found["loss"].values()) == [1, 1 / 2, 1 / 3]


def test_what_was_displayed_is_placed_between_the_ends_of_rounds() -> None:
    resumed = averaging(rounds=2) + averaging(rounds=1, begin=9000.0, first=3)
    assert RunCurves(resumed).at_times({15: 0.5, 0: 2.5, 28: 0.25}) == {0.0: 2.5, 7.5: 0.5, 14.0: 0.25}


def test_divergence_is_that_of_all_workers_of_a_round() -> None:
    records = averaging(rounds=2, workers=2)
    records[2].divergence = None
    assert RunCurves(records).divergences() == {(10, 5.0): [1.0, 2.0], (20, 10.0): [1.5]}


def test_edges_never_go_back_where_workers_go_their_own_ways() -> None:
    records = [
        RoundRecord(1, 0, 0.0, 8.0, 20, 20),
        RoundRecord(2, 1, 3.0, 6.0, 10, 5),
        RoundRecord(3, 0, 9.0, 12.0, 30, 10),
    ]
    assert RunCurves(records).edges.tolist() == [[0, 0], [20, 8], [20, 8], [30, 11]]
