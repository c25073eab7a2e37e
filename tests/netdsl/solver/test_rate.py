"""Learning-rate policies, by their formulas."""

from __future__ import annotations

import math

import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import SolverError
from netdsl.solver.rate import next_step, rate_at


def rates(count: int, **settings: object) -> list[float]:
    param, step, found = pb.SolverParameter(base_lr=0.5, **settings), 0, []
    for iteration in range(count):
        step = next_step(param, iteration, step)
        found.append(rate_at(param, iteration, step))
    return found


def test_policies() -> None:
    assert rates(3, lr_policy="fixed") == [0.5] * 3
    assert rates(5, lr_policy="step", stepsize=2, gamma=0.5) == [0.5, 0.5, 0.25, 0.25, 0.125]
    assert rates(3, lr_policy="exp", gamma=0.5) == [0.5, 0.25, 0.125]
    assert rates(3, lr_policy="inv", gamma=2, power=0.5) == pytest.approx([0.5, 0.5 / 3**0.5, 0.5 / 5**0.5])
    assert rates(5, lr_policy="multistep", stepvalue=[1, 3], gamma=0.5) == [0.5, 0.25, 0.25, 0.125, 0.125]
    assert rates(5, lr_policy="poly", max_iter=4, power=2) == pytest.approx([0.5, 0.28125, 0.125, 0.03125, 0])
    sigmoid = [0.5 / (1 + math.exp(-0.5 * (iteration - 2))) for iteration in range(4)]
    assert rates(4, lr_policy="sigmoid", gamma=0.5, stepsize=2) == pytest.approx(sigmoid)


def test_multistep_takes_one_step_value_in_an_iteration_and_goes_on_from_a_state() -> None:
    assert rates(4, lr_policy="multistep", stepvalue=[1, 1, 2], gamma=0.5) == [0.5, 0.25, 0.125, 0.0625]
    param = pb.SolverParameter(lr_policy="multistep", stepvalue=[5, 6, 7])
    assert next_step(param, 100, 1) == 2
    assert next_step(param, 100, 3) == 3


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"lr_policy": "stpe"}, "unknown lr_policy 'stpe'; it is one of fixed, step"),
        ({}, "no lr_policy"),
        ({"lr_policy": "step", "gamma": 0.1}, "needs a stepsize above 0"),
        ({"lr_policy": "exp", "gamma": -1}, "gamma is -1"),
        ({"lr_policy": "poly"}, "needs a max_iter above 0"),
    ],
)
def test_settings_that_make_no_rate(settings: dict[str, object], says: str) -> None:
    with pytest.raises(SolverError, match=says):
        rates(1, **settings)
