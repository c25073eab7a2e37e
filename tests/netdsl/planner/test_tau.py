from __future__ import annotations

import pytest

from netdsl.planner.convergence_grid import ConvergenceGrid
from netdsl.planner.tau import averaging_speedup, best_tau, estimate_best_tau, naive_speedup

GRID = ConvergenceGrid("a task", "a command", 0.9, 1, 1000.0, (4,), (1, 100), ((250.0, 500.0),))


def test_sparknets_formulas() -> None:
    cost, exchange, workers, serial, tau, rounds = 2.0, 30.0, 5, 900.0, 10, 40.0  # C, S, K, N_a, tau, M_a
    ratio, factor = exchange / cost, serial / (tau * rounds)
    assert averaging_speedup(factor, tau, ratio) == pytest.approx(serial * cost / ((tau * cost + exchange) * rounds))
    assert naive_speedup(workers, ratio) == pytest.approx(cost / (cost / workers + exchange))


def test_the_dearer_exchanges_are_the_rarer_they_should_be() -> None:
    factors = {1: 3.0, 10: 2.0, 100: 1.5}
    optima = [best_tau(factors, ratio) for ratio in (0.01, 1.0, 100.0)]
    assert [optimum.tau for optimum in optima if optimum is not None] == [1, 10, 100]
    assert optima[1] is not None
    assert optima[1].speedup == pytest.approx(2.0 / 1.1)
    assert best_tau({}, 1.0) is None


def test_between_trainings_the_best_tau_is_an_estimate() -> None:
    free, even, dear = (estimate_best_tau(GRID, 4, ratio) for ratio in (0.0, 1.0, 1000.0))
    assert (free.tau, dear.tau) == (1, 100)
    assert 1 < even.tau < 100
    around = [GRID.estimate(4, tau).factor / (1 + 1 / tau) for tau in (even.tau - 1, even.tau, even.tau + 1)]
    assert even.speedup == pytest.approx(around[1])
    assert around[1] == max(around)
    assert str(even.estimate).startswith("an estimate from trainings of a task to 90% accuracy: with 4 workers")
