"""The joint model: the equations written out, and how its rates change."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch import Tensor

from netdsl.distributed.strategies.joint_model import JointModel, Motion

PLACES = [slice(0, 3), slice(3, 8)]  # five values learn, and three don't


def joint_of(model: Tensor, beta: float = 0.9, gamma: float = 0.7, delta: float = 0.8, ramp: int = 0) -> JointModel:
    return JointModel(Motion(beta, gamma, delta, ramp), model, 5, PLACES)


def values(seed: int, size: int = 8) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_it_is_blended_and_projected_as_the_equations_say() -> None:
    joint, model, velocity = joint_of(values(0)), values(0), torch.zeros(3, dtype=torch.float64)
    for cycle in range(1, 4):
        mean = values(cycle, 3)
        joint.update(0, mean)
        blended = (1 - 0.9) * model[:3] + 0.9 * mean  # Eq. 8
        velocity = 0.8 * velocity + (1 - 0.8) * (blended - model[:3])  # Eq. 4
        model[:3] = blended
        projected = torch.empty(3, dtype=torch.float64)
        joint.project(0, projected)
        torch.testing.assert_close(joint.model, model)  # the other shard is as it was
        torch.testing.assert_close(projected, blended + 0.7 * velocity)  # Eq. 5


def test_what_does_not_learn_is_blended_but_not_projected() -> None:
    joint, model, mean = joint_of(values(0)), values(0), values(1, 5)
    joint.update(1, mean)
    projected = torch.empty(5, dtype=torch.float64)
    joint.project(1, projected)
    blended = 0.1 * model[3:] + 0.9 * mean
    torch.testing.assert_close(projected[2:], blended[2:])
    assert not torch.allclose(projected[:2], blended[:2])
    assert joint.velocity.shape == (5,)


def test_with_beta_one_it_is_the_mean_to_the_bit() -> None:
    joint, mean = joint_of(values(0), beta=1.0, gamma=0.0), values(1, 3)
    joint.update(0, mean)
    projected = torch.empty(3, dtype=torch.float64)
    joint.project(0, projected)
    assert torch.equal(joint.model[:3], mean)
    assert torch.equal(projected, mean)


def test_beta_falls_by_a_constant_factor_while_gamma_rises() -> None:
    motion = Motion(beta=0.9, gamma=0.7, delta=0.8, ramp=20)
    betas = [motion.beta_after(cycles) for cycles in range(25)]
    assert betas[0] == 1
    assert betas[20:] == [pytest.approx(0.9)] * 5
    falls = [later / earlier for earlier, later in pairwise(betas[:21])]
    assert falls == [pytest.approx(0.9 ** (1 / 20))] * 20
    assert [motion.gamma_after(cycles) for cycles in (0, 10, 20, 30)] == [0, pytest.approx(0.35), 0.7, 0.7]


def test_shards_have_cycles_of_their_own() -> None:
    joint = joint_of(values(0), ramp=1)
    joint.update(0, values(1, 3))  # with beta 1
    joint.update(1, values(2, 5))
    joint.update(0, values(3, 3))  # with beta 0.9
    torch.testing.assert_close(joint.model[3:], values(2, 5))
    torch.testing.assert_close(joint.model[:3], 0.1 * values(1, 3) + 0.9 * values(3, 3))
    assert joint.cycles.tolist() == [2, 1]


def test_long_shards_are_updated_whole() -> None:
    size = (1 << 17) + 40  # more than is done at once, and the last 20 don't learn
    model, mean = values(0, size), values(1, size)
    joint = JointModel(Motion(0.9, 0.7, 0.8, 0), model, size - 20, [slice(0, size)])
    joint.update(0, mean)
    torch.testing.assert_close(joint.model, 0.1 * model + 0.9 * mean)
    torch.testing.assert_close(joint.velocity, 0.2 * 0.9 * (mean - model)[:-20])
