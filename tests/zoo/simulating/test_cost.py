from __future__ import annotations

import pytest

from zoo.simulating.convergence import RATIOS, Speedup, costs


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


def test_what_was_never_reached_has_no_speedup() -> None:
    assert {each.averaging for each in costs([Speedup(5, 1, None, 100.0), Speedup(5, 2, 300.0, None)])} == {None}
