from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from caffe_proto.errors import FileError
from netdsl.errors import DistributedError
from netdsl.planner.convergence_grid import ConvergenceGrid, read_grid, write_grid

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


def test_trained_numbers_are_what_was_trained() -> None:
    estimate = GRID.estimate(8, 1)
    assert (estimate.factor, estimate.inside) == (pytest.approx(6.0), True)
    assert estimate.work == pytest.approx(8 / 6)
    assert GRID.estimate(2, 16).factor == pytest.approx(1.5)


def test_between_them_logarithms_are_interpolated() -> None:
    assert GRID.estimate(4, 1).factor == pytest.approx((2.0 * 6.0) ** 0.5)
    assert GRID.estimate(2, 4).factor == pytest.approx((2.0 * 1.5) ** 0.5)


@pytest.mark.parametrize("tau", [1, 4, 1000])
def test_one_worker_is_as_quick_as_itself_with_any_tau(tau: int) -> None:
    estimate = GRID.estimate(1, tau)
    assert (estimate.factor, estimate.inside) == (1.0, True)


def test_outside_it_says_so_and_takes_the_nearest() -> None:
    for workers, tau, nearest in ((16, 1, 6.0), (2, 100, 1.5), (16, 1, 6.0)):
        estimate = GRID.estimate(workers, tau)
        assert (estimate.factor, estimate.inside) == (pytest.approx(nearest), False)
        assert "outside those trainings and taken from the nearest of them" in str(estimate)
    assert "outside" not in str(GRID.estimate(3, 1))


def test_every_sentence_calls_it_an_estimate() -> None:
    assert str(GRID.estimate(2, 1)) == (
        "an estimate from trainings of a net to 90% accuracy: with 2 workers and tau 1 one worker alone needs 2 times "
        "as many iterations as each of them"
    )


@pytest.mark.parametrize(("workers", "tau"), [(8, 16), (4, 4)])
def test_where_trainings_never_reached_it_nothing_is_estimated(workers: int, tau: int) -> None:
    with pytest.raises(DistributedError, match="8 workers with tau 16 never reached it"):
        GRID.estimate(workers, tau)
    with pytest.raises(DistributedError, match="one alone never reached it"):
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
    with pytest.raises(FileError, match=f"{file}: isn't a speedup.json"):
        read_grid(file)
    with pytest.raises(FileError, match="can't be read"):
        read_grid(tmp_path / "missing.json")


def test_our_own_covers_the_usual_numbers_and_says_how_it_is_made_again() -> None:
    grid = read_grid()
    assert (grid.workers, grid.taus) == ((1, 2, 4, 8, 16), (1, 5, 10, 25, 50, 100))
    assert grid.command.startswith("zoo simulate speedup --workers 1,2,4,8,16 --taus 1,5,10,25,50,100 ")
    for workers in (2, 5, 16):
        often, seldom = (grid.estimate(workers, tau) for tau in (1, 100))
        assert workers * 1.5 > often.factor > 1  # two workers may be more than twice as quick
        assert seldom.factor < often.factor  # exchanging seldom costs iterations
