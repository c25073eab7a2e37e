"""The iterations and speed-ups of workers that average."""

from __future__ import annotations

from pathlib import Path

import pytest

from zoo.simulating.convergence import RATIOS, ConvergenceExperiment, Speedup, TrainingSetup, costs, iterations_needed
from zoo.simulating.digits import DigitsTask
from zoo.simulating.trials import AccuracyPoint, TrialCache, TrialOutcome

QUESTION = ConvergenceExperiment(goal=0.8, seeds=3, task=DigitsTask(iterations=40))


def keep(cache: TrialCache, cell: TrainingSetup, *reached: int | None) -> None:
    """Store results as if every seed had reached the goal in that iteration."""
    for trial, iteration in zip(QUESTION.trials(cell), reached, strict=True):
        points = (
            (AccuracyPoint(1.0, 1, 0.7),)
            if iteration is None
            else (AccuracyPoint(1.0, 1, 0.7), AccuracyPoint(9.0, iteration, 0.8))
        )
        cache.put(trial, TrialOutcome(points, (), 9.0))


def test_the_median_of_the_seeds_counts(tmp_path: Path) -> None:
    cache, serial, often, seldom = (
        TrialCache(tmp_path),
        QUESTION.serial(),
        TrainingSetup(2, 5, 4),
        TrainingSetup(3, 20, 4),
    )
    keep(cache, serial, 30, 20, None)
    keep(cache, often, 10, 17, 12)
    keep(cache, seldom, None, 20, None)
    found = iterations_needed(QUESTION, [serial, often, seldom, often], lambda done, total: None, cache)
    assert found == {serial: 30, often: 12, seldom: None}


def test_one_worker_is_trained_once_as_it_has_nothing_to_average() -> None:
    assert QUESTION.parallel(1, 7) == QUESTION.serial()
    assert QUESTION.parallel(2, 7) == TrainingSetup(2, 7, 4)


@pytest.mark.parametrize(
    ("cell", "every"), [(TrainingSetup(2, 3, 4), 12), (TrainingSetup(2, 25, 4), 25), (TrainingSetup(1, 10, 32), 10)]
)
def test_a_cells_trials_are_listed(cell: TrainingSetup, every: int) -> None:
    trials = QUESTION.trials(cell)
    params = [trial.plan.solver.message for trial in trials]
    assert [param.random_seed for param in params] == [1, 2, 3]
    assert {param.test_interval for param in params} == {every}
    assert {param.net_param.layer[0].data_param.batch_size for param in params} == {cell.batch}
    assert {(trial.plan.workers, trial.plan.strategy.tau, trial.goal) for trial in trials} == {
        (cell.workers, cell.tau, 0.8)
    }


def test_naive_parallelism_and_averaging_at_its_best_tau_are_the_papers_formulas() -> None:
    found = [Speedup(5, 1, 300.0, 100.0), Speedup(5, 10, 300.0, 150.0), Speedup(5, 100, 300.0, None)]
    by_ratio = {round(each.ratio, 6): each for each in costs(found)}
    assert len(by_ratio) == len(RATIOS)
    cheap, even, dear = by_ratio[0.01], by_ratio[1.0], by_ratio[100.0]
    assert cheap.naive == pytest.approx(1 / (1 / 5 + 0.01))
    assert (cheap.averaging, cheap.tau) == (pytest.approx(3 / 1.01), 1)
    assert (even.averaging, even.tau) == (pytest.approx(2 / 1.1), 10)
    assert (dear.averaging, dear.tau) == (pytest.approx(2 / 11), 10)
    assert dear.naive == pytest.approx(1 / 100.2)


def test_an_unreached_goal_has_no_speedup() -> None:
    assert {each.averaging for each in costs([Speedup(5, 1, None, 100.0), Speedup(5, 2, 300.0, None)])} == {None}
