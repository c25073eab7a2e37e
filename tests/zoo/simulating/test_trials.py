"""Trials that are simulated in parallel and cached."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from caffe_proto.copies import copy_of
from netdsl.distributed.machines import Link, Machines
from netdsl.distributed.strategies.all_reduce import AllReduce
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.errors import DataError, DistributedError
from netdsl.net.compute_precision import ComputePrecision
from netdsl.solver.settings import open_settings
from netdsl.solver.trainable_net import Compute
from zoo.simulating.trials import AccuracyPoint, Trial, TrialCache, TrialOutcome, WorkerUsage, key_of, run_trials

OUTCOME = TrialOutcome((AccuracyPoint(0.1 + 0.2, 5, 1 / 3),), (WorkerUsage(5, 0.7, 0.1, 0.2, 40),), 1.1)


def test_a_runs_outcome_survives_json(trial: Trial) -> None:
    outcome = trial.run()
    assert [point.iteration for point in outcome.points] == [0, 10, 20, 30]
    assert [usage.steps for usage in outcome.usages] == [30, 30]
    assert [usage.compute for usage in outcome.usages] == [15.0, 15.0]
    assert outcome.time > 15.0
    assert TrialOutcome.from_json(json.loads(json.dumps(outcome.to_json()))) == outcome


def test_the_first_time_of_an_accuracy_and_the_use_of_time_are_found() -> None:
    points = tuple(
        AccuracyPoint(2.0 * number, number, accuracy) for number, accuracy in enumerate([0.1, 0.6, 0.5, 0.7])
    )
    outcome = TrialOutcome(points, (WorkerUsage(3, 5.0, 1.0, 2.0, 40), WorkerUsage(3, 7.0, 0.0, 1.0, 40)), 8.0)
    assert outcome.first_reaching(0.55) == points[1]
    assert outcome.first_reaching(0.65) == points[3]
    assert outcome.first_reaching(0.8) is None
    assert outcome.best == 0.7
    assert [outcome.share(name) for name in ("compute", "wait", "exchange")] == pytest.approx([0.75, 1 / 16, 3 / 16])


def test_cached_outcomes_are_read_back_exactly(trial: Trial, tmp_path: Path) -> None:
    cache = TrialCache(tmp_path / "a" / "b")
    assert cache.get(trial) is None
    cache.put(trial, OUTCOME)
    assert TrialCache(tmp_path / "a" / "b").get(trial) == OUTCOME
    assert [path.suffix for path in (tmp_path / "a" / "b").iterdir()] == [".json"]


def test_a_damaged_file_counts_as_missing(trial: Trial, tmp_path: Path) -> None:
    cache = TrialCache(tmp_path)
    cache.put(trial, OUTCOME)
    for text in ("", '{"points": [', "[]", '{"points": [], "usages": [{"steps": 1}], "time": 0}'):
        next(tmp_path.iterdir()).write_text(text)
        assert cache.get(trial) is None


def test_whatever_changes_a_run_changes_its_key(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = trial.plan
    param = copy_of(plan.solver.message)
    param.net_param.layer[2].inner_product_param.num_output = 63
    others = [
        replace(trial, link=Link(2e6)),
        replace(trial, machines=Machines(0.5, 2, jitter=0.1)),
        replace(trial, goal=0.9),
        replace(trial, plan=replace(plan, workers=3)),
        replace(trial, plan=replace(plan, strategy=ModelAveraging(6))),
        replace(trial, plan=replace(plan, solver=open_settings(param))),
        replace(trial, plan=replace(plan, compute=Compute(precision=ComputePrecision.BF16))),
    ]
    keys = {key_of(each) for each in (trial, *others)}
    assert len(keys) == 1 + len(others)
    assert key_of(replace(trial)) in keys
    monkeypatch.setattr("zoo.simulating.trials._hash_of_code", lambda: "other sources")
    assert key_of(trial) not in keys


def test_where_a_net_is_written_does_not_change_its_key(trial: Trial) -> None:
    param = copy_of(trial.plan.solver.message)
    param.net_param.layer[2].location = "elsewhere/net.prototxt:31"
    assert key_of(replace(trial, plan=replace(trial.plan, solver=open_settings(param)))) == key_of(trial)


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        DistributedError, match="file/cache: the folder can't be created: Not a directory; name another --cache"
    ):
        TrialCache(tmp_path / "file" / "cache")


def test_cached_trials_are_not_trained_again_and_keep_their_order(trial: Trial, tmp_path: Path) -> None:
    cache, told = TrialCache(tmp_path), []
    other = replace(trial, plan=replace(trial.plan, workers=3))
    wanted = [each.run() for each in (trial, other)]
    for each, outcome in zip((trial, other), wanted, strict=True):
        cache.put(each, outcome)
    found = run_trials([other, trial, other], lambda done, total: told.append((done, total)), cache)
    assert found == [wanted[1], wanted[0], wanted[1]]
    assert told == [(2, 2)]


@pytest.mark.slow
def test_trials_in_processes_give_the_same_results_as_here(trial: Trial, tmp_path: Path) -> None:
    cache, told = TrialCache(tmp_path), []
    other = replace(trial, plan=replace(trial.plan, workers=3))
    wanted = [each.run() for each in (trial, other)]
    cache.put(other, wanted[1])
    found = run_trials([trial, other, trial], lambda done, total: told.append((done, total)), cache)
    assert found == [wanted[0], wanted[1], wanted[0]]
    assert told == [(1, 2), (2, 2)]
    assert cache.get(trial) == wanted[0]


@pytest.mark.slow
def test_errors_of_trials_in_processes_are_reported_as_here(trial: Trial) -> None:
    odd = replace(trial, plan=replace(trial.plan, strategy=AllReduce(), workers=4))
    with pytest.raises(DataError, match="a batch of 6 can't be divided among 4 workers"):
        run_trials([odd], lambda done, total: None)
