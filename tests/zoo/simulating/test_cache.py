from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from netdsl.distributed.machines import Link, Machines
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.errors import DistributedError
from netdsl.net.compute_precision import ComputePrecision
from netdsl.solver.trainable_net import Compute
from zoo.simulating import cache as module
from zoo.simulating.cache import TrialCache, key_of
from zoo.simulating.trial import AccuracyPoint, Trial, TrialOutcome, WorkerUsage

OUTCOME = TrialOutcome((AccuracyPoint(0.1 + 0.2, 5, 1 / 3),), (WorkerUsage(5, 0.7, 0.1, 0.2, 40),), 1.1)


def test_what_is_kept_comes_back_to_the_bit(trial: Trial, tmp_path: Path) -> None:
    cache = TrialCache(tmp_path / "a" / "b")
    assert cache.get(trial) is None
    cache.put(trial, OUTCOME)
    assert TrialCache(tmp_path / "a" / "b").get(trial) == OUTCOME
    assert [path.suffix for path in (tmp_path / "a" / "b").iterdir()] == [".json"]


def test_a_damaged_file_is_as_none(trial: Trial, tmp_path: Path) -> None:
    cache = TrialCache(tmp_path)
    cache.put(trial, OUTCOME)
    for text in ("", '{"points": [', "[]", '{"points": [], "usages": [{"steps": 1}], "time": 0}'):
        next(tmp_path.iterdir()).write_text(text)
        assert cache.get(trial) is None


def test_whatever_changes_a_run_changes_its_key(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = trial.plan
    param = type(plan.solver)()
    param.CopyFrom(plan.solver)
    param.net_param.layer[2].inner_product_param.num_output = 63
    others = [
        replace(trial, link=Link(2e6)),
        replace(trial, machines=Machines(0.5, 2, jitter=0.1)),
        replace(trial, goal=0.9),
        replace(trial, plan=replace(plan, workers=3)),
        replace(trial, plan=replace(plan, strategy=ModelAveraging(6))),
        replace(trial, plan=replace(plan, solver=param)),
        replace(trial, plan=replace(plan, compute=Compute(precision=ComputePrecision.BF16))),
    ]
    keys = {key_of(each) for each in (trial, *others)}
    assert len(keys) == 1 + len(others)
    assert key_of(replace(trial)) in keys
    monkeypatch.setattr(module, "_code", lambda: "other sources")
    assert key_of(trial) not in keys


def test_where_a_net_is_written_does_not_change_its_key(trial: Trial) -> None:
    param = type(trial.plan.solver)()
    param.CopyFrom(trial.plan.solver)
    param.net_param.layer[2].location = "elsewhere/net.prototxt:31"
    assert key_of(replace(trial, plan=replace(trial.plan, solver=param))) == key_of(trial)


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DistributedError, match="file/cache: can't be made: Not a directory; name another --cache"):
        TrialCache(tmp_path / "file" / "cache")
