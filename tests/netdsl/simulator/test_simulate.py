from __future__ import annotations

from pathlib import Path

import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.distributed.machines import ExchangeKind, Link, Machines
from netdsl.distributed.run import Run
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.distributed.strategies.elastic import ElasticAveraging
from netdsl.simulator.simulate import Simulation, simulate
from netdsl.solver.settings import open_settings


def simulated(param: pb.SolverParameter, size: int, link: Link | None = None, **given: float) -> Simulation:
    return simulate(
        Run(open_settings(param), ModelAveraging(3), size), link=link or Link(), pace=Machines(2.0, size), **given
    )


def test_time_follows_the_papers_formula(param: pb.SolverParameter) -> None:
    link = Link(bandwidth=1e4)
    found = simulated(param, 3, link)
    size = found.records[0][0].bytes
    rounds, exchange = 4, link.seconds(ExchangeKind.MEAN, 3, size)
    assert exchange > 0.1
    begun = link.seconds(ExchangeKind.BROADCAST, 3, size)
    assert found.time == pytest.approx(begun + rounds * (3 * 2.0 + exchange))
    assert [score.iteration for score in found.scores] == [6, 12]
    assert found.scores[0].time == pytest.approx(begun + 2 * (3 * 2.0 + exchange))
    assert [[record.iteration for record in records] for records in found.records] == [[3, 6, 9, 12]] * 3


def test_a_simulation_is_repeatable_and_the_link_changes_only_times(param: pb.SolverParameter) -> None:
    quick, slow, again = (simulated(param, 2, link) for link in (Link(), Link(1e4, 0.1), Link(1e4, 0.1)))
    assert slow == again
    assert [score.values for score in quick.scores] == [score.values for score in slow.scores]
    assert quick.time == 24.0 < slow.time


def test_a_simulation_ends_when_the_goal_is_reached(param: pb.SolverParameter) -> None:
    whole = simulated(param, 2)
    accuracies = [score.accuracy for score in whole.scores]
    assert accuracies[0] is not None
    short = simulated(param, 2, goal=accuracies[0])
    assert short.scores[0] == whole.scores[0]
    assert short.records[0][-1].iteration == 9  # the round in which all workers learn of it


def test_workers_without_rounds_in_common_end_too(param: pb.SolverParameter) -> None:
    plan = Run(open_settings(param), ElasticAveraging(3), 3)
    found = simulate(plan, link=Link(), pace=Machines(2.0, 3, stragglers=1, slowdown=3.0), goal=0.0)
    # The first worker tests after its second round, and ends with the next round. The others end with the round that
    # they are in.
    assert [len(records) for records in found.records] == [3, 2, 1]


def test_a_simulation_writes_no_files(
    param: pb.SolverParameter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    param.snapshot, param.snapshot_prefix, param.snapshot_after_train, param.display = 3, "run", True, 1
    simulated(param, 2)
    assert list(tmp_path.iterdir()) == []


def test_stragglers_make_the_others_wait(param: pb.SolverParameter) -> None:
    plan = Run(open_settings(param), ModelAveraging(3), 2)
    found = simulate(plan, link=Link(), pace=Machines(2.0, 2, stragglers=1, slowdown=3.0))
    quick, slow = found.records
    assert found.time == 72.0
    assert [record.wait for record in quick] == [12.0] * 4
    assert [record.wait for record in slow] == [0.0] * 4
