from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from caffe_proto.errors import FileError
from netdsl.errors import DistributedError
from netdsl.planner.convergence import (
    ConvergenceGrid,
    averaging_speedup,
    best_tau,
    estimate_best_tau,
    naive_speedup,
    read_grid,
    write_grid,
)

GRID = ConvergenceGrid(
    task="a net",
    command="zoo simulate speedup",
    goal=0.9,
    seeds=3,
    serial=1200.0,
    workers=(2, 8),
    taus=(1, 16),
    parallel=((600.0, 800.0), (200.0, None)),
)


def test_trained_numbers_are_returned_unchanged() -> None:
    estimate = GRID.estimate(8, 1)
    assert (estimate.factor, estimate.inside) == (pytest.approx(6.0), True)
    assert estimate.work == pytest.approx(8 / 6)
    assert GRID.estimate(2, 16).factor == pytest.approx(1.5)


def test_between_trained_numbers_logarithms_are_interpolated() -> None:
    assert GRID.estimate(4, 1).factor == pytest.approx((2.0 * 6.0) ** 0.5)
    assert GRID.estimate(2, 4).factor == pytest.approx((2.0 * 1.5) ** 0.5)


@pytest.mark.parametrize("tau", [1, 4, 1000])
def test_one_worker_has_a_factor_of_one_with_any_tau(tau: int) -> None:
    estimate = GRID.estimate(1, tau)
    assert (estimate.factor, estimate.inside) == (1.0, True)


def test_outside_the_grid_the_nearest_number_is_used_with_a_note() -> None:
    for workers, tau, nearest in ((16, 1, 6.0), (2, 100, 1.5), (16, 1, 6.0)):
        estimate = GRID.estimate(workers, tau)
        assert (estimate.factor, estimate.inside) == (pytest.approx(nearest), False)
        assert "outside the range of those trainings, so the nearest one is used" in str(estimate)
    assert "outside" not in str(GRID.estimate(3, 1))


def test_every_message_calls_the_number_an_estimate() -> None:
    assert str(GRID.estimate(2, 1)) == (
        "an estimate from trainings of a net to 90% accuracy: with 2 workers and tau 1, one worker alone needs 2 times "
        "as many iterations as each of them"
    )


@pytest.mark.parametrize(("workers", "tau"), [(8, 16), (4, 4)])
def test_without_successful_runs_there_is_no_estimate(workers: int, tau: int) -> None:
    with pytest.raises(DistributedError, match="8 workers with tau 16 never reached it"):
        GRID.estimate(workers, tau)
    with pytest.raises(DistributedError, match="one worker alone never reached it"):
        msgspec.structs.replace(GRID, serial=None).estimate(2, 1)


def test_a_grid_is_written_and_read(tmp_path: Path) -> None:
    write_grid(GRID, tmp_path / "speedup.json")
    assert read_grid(tmp_path / "speedup.json") == GRID


@pytest.mark.parametrize(
    "change",
    [
        {"taus": [16, 1]},
        {"parallel": [[600, 800]]},
        {"parallel": [[600, 800], [200]]},
        {"parallel": [[600, 800], [200, 0]]},
        {"workers": []},
        {"serial": "many"},
        {"more": 1},
    ],
)
def test_other_files_are_refused_with_their_name(tmp_path: Path, change: dict[str, object]) -> None:
    file = tmp_path / "other.json"
    file.write_text(json.dumps({**msgspec.to_builtins(GRID), **change}))
    with pytest.raises(FileError, match=f"{file}: not a speedup.json"):
        read_grid(file)
    with pytest.raises(FileError, match="can't be read"):
        read_grid(tmp_path / "missing.json")


def test_the_included_grid_covers_usual_numbers_and_names_its_command() -> None:
    grid = read_grid()
    assert (grid.workers, grid.taus) == ((1, 2, 4, 8, 16), (1, 5, 10, 25, 50, 100))
    assert grid.command.startswith("zoo simulate speedup --workers 1,2,4,8,16 --taus 1,5,10,25,50,100 ")
    for workers in (2, 5, 16):
        often, seldom = (grid.estimate(workers, tau) for tau in (1, 100))
        assert workers * 1.5 > often.factor > 1  # two workers may be more than twice as fast
        assert seldom.factor < often.factor  # rare exchanges cost iterations


TWO_LEVELS = ConvergenceGrid("a task", "a command", 0.9, 1, 1000.0, (4,), (1, 100), ((250.0, 500.0),))


def test_sparknets_formulas_are_reproduced() -> None:
    cost, exchange, workers, serial, tau, rounds = 2.0, 30.0, 5, 900.0, 10, 40.0  # C, S, K, N_a, tau, M_a
    ratio, factor = exchange / cost, serial / (tau * rounds)
    assert averaging_speedup(factor, tau, ratio) == pytest.approx(serial * cost / ((tau * cost + exchange) * rounds))
    assert naive_speedup(workers, ratio) == pytest.approx(cost / (cost / workers + exchange))


def test_costlier_exchanges_should_be_rarer() -> None:
    factors = {1: 3.0, 10: 2.0, 100: 1.5}
    optima = [best_tau(factors, ratio) for ratio in (0.01, 1.0, 100.0)]
    assert [optimum.tau for optimum in optima if optimum is not None] == [1, 10, 100]
    assert optima[1] is not None
    assert optima[1].speedup == pytest.approx(2.0 / 1.1)
    assert best_tau({}, 1.0) is None


def test_between_trained_numbers_the_best_tau_is_an_estimate() -> None:
    free, even, dear = (estimate_best_tau(TWO_LEVELS, 4, ratio) for ratio in (0.0, 1.0, 1000.0))
    assert (free.tau, dear.tau) == (1, 100)
    assert 1 < even.tau < 100
    around = [TWO_LEVELS.estimate(4, tau).factor / (1 + 1 / tau) for tau in (even.tau - 1, even.tau, even.tau + 1)]
    assert even.speedup == pytest.approx(around[1])
    assert around[1] == max(around)
    assert str(even.estimate).startswith("an estimate from trainings of a task to 90% accuracy: with 4 workers")
