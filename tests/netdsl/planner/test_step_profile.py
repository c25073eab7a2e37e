from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf import text_format

from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.batches import BatchThreads
from netdsl.distributed.machines import Link, Machines
from netdsl.distributed.run import Run
from netdsl.distributed.run_log import RoundRecord
from netdsl.distributed.strategies.settings import parse
from netdsl.errors import DistributedError
from netdsl.planner.step_profile import StepProfile, overhead_ratio, profile_step
from netdsl.simulator.simulate import simulate
from netdsl.solver.settings import open_settings
from netdsl.solver.update import Updater

SOLVER = """
base_lr: 0.01 lr_policy: "fixed" max_iter: 12 random_seed: 3 snapshot_after_train: false
test_iter: 1 test_interval: 4
net_param {
  layer { name: "data" type: "Data" top: "data" top: "label"
    data_param { source: "digits:train" batch_size: 12 } transform_param { scale: 0.00390625 } }
  layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
    inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
}
"""
SLOW = 0.03  # seconds; many times what the small net takes


@pytest.fixture
def solver() -> pb.SolverParameter:
    return text_format.Parse(SOLVER, pb.SolverParameter())


def slow_down(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> None:
    usual: Callable[..., Any] = getattr(owner, name)

    def slow(*arguments: Any) -> Any:
        time.sleep(SLOW)
        return usual(*arguments)

    monkeypatch.setattr(owner, name, slow)


def test_slow_data_are_overhead(solver: pb.SolverParameter, monkeypatch: pytest.MonkeyPatch) -> None:
    slow_down(monkeypatch, BatchThreads, "take")
    profile = profile_step(Run(open_settings(solver)))
    assert profile.data >= SLOW
    assert profile.compute + profile.update < SLOW
    assert profile.overhead_ratio > 1


def test_slow_updates_are_overhead(solver: pb.SolverParameter, monkeypatch: pytest.MonkeyPatch) -> None:
    slow_down(monkeypatch, Updater, "update")
    profile = profile_step(Run(open_settings(solver)))
    assert profile.update >= SLOW
    assert profile.compute + profile.data < SLOW


def test_on_a_cpu_there_are_no_transfers_and_the_parts_add_up(solver: pb.SolverParameter) -> None:
    profile = profile_step(Run(open_settings(solver), parse("allreduce"), workers=3))
    assert profile.transfer == 0 < min(profile.compute, profile.update)
    assert StepProfile(6.0, 1.0, 0.5, 1.5).overhead_ratio == 0.5
    assert StepProfile(6.0, 1.0, 0.5, 1.5).total == 9.0


def test_the_rounds_of_a_run_show_the_cost_of_exchanges(solver: pb.SolverParameter) -> None:
    machines = Machines(0.5, 3, stragglers=1, slowdown=2.0)
    found = simulate(Run(open_settings(solver), parse("averaging:tau=4"), 3), link=Link(1e4, 0.1), pace=machines)
    rounds = [record for records in found.records for record in records]
    waited = sum(record.wait + record.exchange for record in rounds)
    assert overhead_ratio(rounds) == pytest.approx(waited / (12 * 0.5 * 2 + 12 * 1.0))
    assert overhead_ratio(rounds) > 0.5


def test_overlapped_exchanges_cost_nothing(solver: pb.SolverParameter) -> None:
    found = simulate(Run(open_settings(solver), parse("mpca:tau=4"), 3), link=Link(1e4, 0.1), pace=Machines(0.5, 3))
    trained = [record for records in found.records for record in records if record.steps]
    assert overhead_ratio(trained) == pytest.approx(0.0)


def test_rounds_without_iterations_are_ignored() -> None:
    with pytest.raises(DistributedError, match="no iterations"):
        overhead_ratio([RoundRecord(1, 0, 0.0, 3.0)])
