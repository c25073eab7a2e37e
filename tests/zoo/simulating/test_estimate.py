from __future__ import annotations

from dataclasses import replace

import pytest

from caffe_proto.copies import copy_of
from netdsl.distributed.machines import Link
from netdsl.distributed.strategies.all_reduce import AllReduce
from netdsl.errors import DistributedError
from netdsl.solver.settings import open_settings
from zoo.simulating.estimate import SimulatedCluster, SpeedupEstimate, estimate_speedup, estimate_table
from zoo.simulating.trials import AccuracyPoint, Trial, TrialOutcome, WorkerUsage


def test_workers_that_divide_a_batch_compute_part_of_an_iteration(trial: Trial) -> None:
    scene, divided = SimulatedCluster(Link(), step=0.6), replace(trial.plan, strategy=AllReduce())
    assert scene.steps(trial.plan) == (0.6, 0.6)
    assert scene.steps(divided) == (0.6, 0.3)
    measured = SimulatedCluster(Link()).steps(trial.plan)
    assert measured[0] == measured[1] > 0


def test_methods_are_compared_by_the_time_to_the_goal() -> None:
    single = TrialOutcome(
        (AccuracyPoint(0.0, 0, 0.1), AccuracyPoint(40.0, 20, 0.9)), (WorkerUsage(20, 40.0, 0.0, 0.0, 0),), 40.0
    )
    usages = (WorkerUsage(6, 12.0, 0.0, 4.0, 5000), WorkerUsage(6, 9.0, 3.0, 4.0, 5000))
    several = TrialOutcome((AccuracyPoint(0.0, 0, 0.1), AccuracyPoint(16.0, 6, 0.95)), usages, 16.0)
    found = SpeedupEstimate(0.9, single, several, 2.0, 2.0)
    assert found.speedup == 2.5
    table = {name: cells for name, *cells in estimate_table(found)}
    assert table["time to 90.00%"] == ["40 s", "16 s"]
    assert table["computing"] == ["100.0%", "65.6%"]
    assert table["waiting for others"] == ["0.0%", "9.4%"]
    assert table["exchanged by each worker"] == ["0 B", "5 kB"]
    never = replace(found, goal=0.93)
    assert never.speedup is None
    assert {name: cells for name, *cells in estimate_table(never)}["time to 93.00%"] == ["never", "16 s"]


@pytest.mark.slow
def test_a_net_without_accuracy_cannot_be_compared(trial: Trial) -> None:
    message = copy_of(trial.plan.solver.message)
    del message.net_param.layer[-2]
    solver = open_settings(message)
    with pytest.raises(DistributedError, match="no output with the name accuracy"):
        estimate_speedup(replace(trial.plan, solver=solver), SimulatedCluster(Link(), 1.0), lambda done, total: None)
