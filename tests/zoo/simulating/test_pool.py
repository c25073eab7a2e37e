from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from netdsl.distributed.strategies.all_reduce import AllReduce
from netdsl.errors import DataError
from zoo.simulating.trials import Trial, TrialCache, run_trials


def test_what_is_in_the_cache_is_not_trained_again_and_comes_in_order(trial: Trial, tmp_path: Path) -> None:
    cache, told = TrialCache(tmp_path), []
    other = replace(trial, plan=replace(trial.plan, workers=3))
    wanted = [each.run() for each in (trial, other)]
    for each, outcome in zip((trial, other), wanted, strict=True):
        cache.put(each, outcome)
    found = run_trials([other, trial, other], lambda done, total: told.append((done, total)), cache)
    assert found == [wanted[1], wanted[0], wanted[1]]
    assert told == [(2, 2)]


@pytest.mark.slow
def test_trials_in_processes_give_what_they_give_here(trial: Trial, tmp_path: Path) -> None:
    cache, told = TrialCache(tmp_path), []
    other = replace(trial, plan=replace(trial.plan, workers=3))
    wanted = [each.run() for each in (trial, other)]
    cache.put(other, wanted[1])
    found = run_trials([trial, other, trial], lambda done, total: told.append((done, total)), cache)
    assert found == [wanted[0], wanted[1], wanted[0]]
    assert told == [(1, 2), (2, 2)]
    assert cache.get(trial) == wanted[0]


@pytest.mark.slow
def test_what_is_wrong_with_a_trial_is_told_as_here(trial: Trial) -> None:
    odd = replace(trial, plan=replace(trial.plan, strategy=AllReduce(), workers=4))
    with pytest.raises(DataError, match="a batch of 6 can't be divided among 4 workers"):
        run_trials([odd], lambda done, total: None)
