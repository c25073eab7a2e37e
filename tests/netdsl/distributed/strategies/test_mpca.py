"""MPCA SGD: what it equals, that training never waits, and that it ends in whatever order workers arrive."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from netdsl.distributed.machines import Link
from netdsl.distributed.run_log import Activity
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.distributed.strategies.mpca import (
    MPCA,
    JointModel,
    Motion,
    ShardStep,
    cut_into_shards,
    shard_lag,
    shard_step,
)
from netdsl.errors import DistributedError
from netdsl.net.compute_precision import ComputePrecision

# The same sums of a few float32 numbers near 1 in another order, over a few steps.
CLOSE = {"rtol": 1e-5, "atol": 1e-6}
LINKS = [Link(), Link(latency=0.4), Link(bandwidth=200, latency=0.1)]
PLACES = [slice(0, 3), slice(3, 8)]  # five values have a learning rate, and three don't


def spans_of(found, activity: Activity):
    return [span for record in found.records for span in record.spans if span.activity is activity]


@pytest.mark.parametrize("link", LINKS)
def test_workers_that_adopt_the_joint_model_average_after_every_step(train, batches, link: Link) -> None:
    """While a joint state is under way, workers train from the previous one, so each state is a step from the last but
    one. If the batch is always the same, every second state is one of averaging with tau 1."""
    strategy = MPCA(shards=1, alpha=1, beta=1, gamma=0, early=0, tau=1)
    always = {"data": lambda rank: batches(rank)[:1]}
    found = train(strategy, 3, link=link, max_iter=40, **always)
    states = [found[0].begun]
    for model in found[0].models:
        if not torch.equal(model, states[-1]):
            states.append(model)
    averaged = train(ModelAveraging(tau=1), 3, max_iter=3, **always)[0].models
    for state, expected in zip(states[1:6:2], averaged, strict=True):
        torch.testing.assert_close(state, expected, **CLOSE)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("shards", [1, 2, 3])
def test_with_alpha_zero_workers_stay_independent_until_the_end(
    train, alone, batches, normed, link: Link, shards
) -> None:
    found = train(MPCA(shards=shards, alpha=0, early=0), net=normed, link=link, momentum=0.9)
    for rank, each in enumerate(found):
        assert torch.equal(each.own[-1], alone(batches(rank), normed, momentum=0.9).weights.buffer)
        assert torch.equal(each.weights, found[0].weights)


@pytest.mark.parametrize("size", [2, 4])
def test_workers_with_the_same_data_equal_one_worker(train, batches, size: int) -> None:
    settings = {"data": lambda rank: batches(0), "momentum": 0.9, "max_iter": 24}
    many, one = (train(MPCA(early=2), count, **settings) for count in (size, 1))
    assert torch.equal(many[0].weights, one[0].weights)


def test_the_assignment_of_data_to_workers_does_not_matter(train, batches) -> None:
    settings = {"max_iter": 24, "link": Link(latency=0.3)}
    forth, back = (train(MPCA(early=2), 3, data=each, **settings) for each in (batches, lambda rank: batches(2 - rank)))
    torch.testing.assert_close(forth[0].weights, back[0].weights, **CLOSE)


@pytest.mark.parametrize("early", [0, 6])
@pytest.mark.parametrize("in_gradient", [False, True])
def test_every_iteration_is_pulled_towards_the_received_state(train, gradient, early: int, in_gradient: bool) -> None:
    """With one worker whose exchanges take an iteration, each state returns to it two iterations later."""
    strategy = MPCA(shards=1, alpha=0.1, beta=1, gamma=0, early=early, high=0.4, in_gradient=in_gradient, tau=1)
    found = train(strategy, 1, max_iter=14, iter_size=2)[0]
    xs = [found.begun, *found.own]
    rates = torch.full_like(found.begun, 0.1)
    for blob in found.solver.weights.blobs:
        rates[blob.start : blob.stop] *= blob.lr_mult
    for number, x in enumerate(xs[:-1]):
        drawn = number - max(3, early)  # how often the worker was pulled before
        alpha = 0.4 * 0.25 ** min(1, (drawn + 1) / early) if early else 0.1
        pull = alpha * (x - xs[number - 2 - (number - 1) % 2]) if drawn >= 0 else torch.zeros_like(x)
        at = x if in_gradient else x - pull
        step = sum(gradient(found, at, 2 * number + each) for each in (0, 1)) / 2
        expected = x - step * 0.1 - rates * pull if in_gradient else at - step * 0.1  # Eq. 6, Eq. 7
        torch.testing.assert_close(xs[number + 1], expected, **CLOSE)


def test_in_float16_gradients_are_pulled_equally_far(train) -> None:
    def weights(alpha: float, precision: ComputePrecision) -> torch.Tensor:
        strategy = MPCA(shards=1, alpha=alpha, beta=1, gamma=0, early=0, in_gradient=True, tau=1)
        found = train(strategy, 2, max_iter=10, precision=precision)
        assert all(
            precision is ComputePrecision.EXACT or each.solver.net.loss_scale.numbers()[2] == 0 for each in found
        )
        return found[0].own[-1]

    exact, free = weights(1.0, ComputePrecision.EXACT), weights(0.0, ComputePrecision.EXACT)
    half = weights(1.0, ComputePrecision.FP16)
    assert torch.dist(half, exact) < torch.dist(free, exact) / 20


def test_early_exchanges_inform_the_joint_model_but_leave_workers_unchanged(train, alone, batches) -> None:
    found = train(MPCA(early=8, tau=4, high=0.5), 2, max_iter=16)
    for rank, each in enumerate(found):
        assert torch.equal(each.own[1], alone(batches(rank), max_iter=8).weights.buffer)
        assert not torch.allclose(each.own[2], alone(batches(rank), max_iter=12).weights.buffer, **CLOSE)
    before, informed = found[0].begun, found[0].models[1]
    mean = (found[0].own[1] + found[1].own[1]) / 2
    assert torch.dist(informed, mean) < 0.5 * torch.dist(before, mean)


def test_models_are_weighted_by_their_iterations_since_the_last_reduction(train, alone, batches) -> None:
    paces = (1.0, 2.5)
    strategy = MPCA(shards=1, alpha=0, beta=1, gamma=0, early=0, tau=1)
    found = train(strategy, 2, pace=lambda rank, iteration: paces[rank], max_iter=16)
    posted = [[span.start for span in spans_of(each, Activity.REDUCE)] for each in found]
    done, weights = [0, 0], []
    for times in list(zip(*posted, strict=False))[:3]:
        before, done = done, [round(time / pace) for time, pace in zip(times, paces, strict=True)]
        counts = [later - earlier for earlier, later in zip(before, done, strict=True)]
        models = [alone(batches(rank), max_iter=count).weights.buffer for rank, count in enumerate(done)]
        expected = sum(count * model for count, model in zip(counts, models, strict=True)) / sum(counts)
        assert any(torch.allclose(model, expected, **CLOSE) for model in found[0].models)
        weights.append(counts)
    assert weights[1][0] > weights[1][1]


def test_sums_of_batch_norm_are_averaged_but_not_pulled(train, alone, batches, normed) -> None:
    settings = {"base_lr": 0.0, "max_iter": 12}  # only sums change
    found = train(MPCA(alpha=0.5, beta=1, early=0), 2, net=normed, **settings)
    learned = found[0].worker.learned
    sums = [each.own[-1][learned:] for each in found]
    for rank, own in enumerate(sums):
        assert torch.equal(own, alone(batches(rank), normed, **settings).weights.buffer[learned:])
    torch.testing.assert_close(found[1].weights[learned:], (sums[0] + sums[1]) / 2, **CLOSE)


@pytest.mark.parametrize("seed", range(8))
def test_training_never_waits_and_ends_in_any_order_of_arrival(train, seed: int) -> None:
    chance = random.Random(seed)
    size, shards = chance.randint(2, 5), chance.randint(1, 5)
    slow = [chance.choice([0.3, 1.0, 1.0, 9.0]) for _ in range(size)]
    paces = [[each * chance.lognormvariate(0, 0.7) for _ in range(16)] for each in slow]
    link = Link(chance.choice([100.0, 1e4]), chance.choice([0.0, 0.5]))
    strategy = MPCA(shards=shards, early=chance.choice([0, 3, 50]), tau=5)
    found = train(strategy, size, pace=lambda rank, number: paces[rank][number - 1], link=link, max_iter=16)
    for each, own in zip(found, paces, strict=True):
        assert torch.equal(each.weights, found[0].weights)
        assert each.records[-1].stop - each.records[0].start == pytest.approx(sum(own))
        assert {record.wait + record.exchange for record in each.records} == {0.0}
    assert torch.isfinite(found[0].weights).all()


def test_one_shard_is_reduced_while_another_is_broadcast(train) -> None:
    found = train(MPCA(early=0, tau=5), 2, link=Link(latency=2.2), max_iter=40)
    reduced, sent = (spans_of(found[1], kind) for kind in (Activity.REDUCE, Activity.BROADCAST))
    assert [span.shard for span in reduced[:5]] == [0, 1, 2, 0, 1]
    assert [span.shard for span in sent[:3]] == [0, 1, 2]
    for one, other in zip(sent[:3], reduced[2:5], strict=True):
        assert (one.start, one.stop) == (other.start, other.stop)
        assert one.stop - one.start == 3  # workers check for it between iterations
    assert not spans_of(found[1], Activity.PREPARE)
    assert [span.shard for span in spans_of(found[0], Activity.PREPARE)[:4]] == [0, 1, 2, 0]


def test_the_first_worker_keeps_the_joint_model_for_restarts(train) -> None:
    found = train(MPCA(early=0, tau=12), 2, max_iter=24)
    state = found[0].strategy_run.state()
    assert state["velocity"].shape == (found[0].worker.learned,)
    assert state["cycles"].min() > 3
    assert state["velocity"].abs().sum() > 0
    assert not found[1].strategy_run.state()
    again = train(MPCA(early=0), 2, first=found[0].models[0], max_iter=1)
    assert torch.equal(again[1].begun, found[0].models[0])


def test_training_from_a_late_iteration_has_no_early_phase(train) -> None:
    settings = {"iteration": 2000, "max_iter": 2020}
    pulled, free = (train(MPCA(early=1000, alpha=alpha, tau=20), 2, **settings)[1] for alpha in (0.05, 0.0))
    assert not torch.allclose(pulled.own[0], free.own[0], **CLOSE)


def test_workers_together_learn_from_all_data(train, alone, batches) -> None:
    """Each worker has its own batch, from which no other worker can learn."""
    data = {"data": lambda rank: batches(rank)[:1], "max_iter": 160, "momentum": 0.9}
    together = train(MPCA(early=10), 3, **data)[0].weights
    own = alone(batches(0)[:1], max_iter=160, momentum=0.9).weights.buffer

    def loss(weights) -> float:
        solver = alone([batches(rank)[0] for rank in range(3)], max_iter=0)
        solver.weights.buffer.copy_(weights)
        return sum(solver.net.forward().item() for _ in range(3)) / 3

    assert loss(together) < 0.5 * loss(own)


@pytest.mark.parametrize(
    "settings",
    [{"shards": 0}, {"tau": 0}, {"alpha": 1.1}, {"beta": 0.0}, {"gamma": -1}, {"delta": 1}, {"early": -1}, {"high": 0}],
)
def test_impossible_settings_are_refused(settings) -> None:
    with pytest.raises(DistributedError):
        MPCA(**settings)


def test_a_run_without_remaining_iterations_ends(train) -> None:
    found = train(MPCA(), 2, iteration=8, max_iter=8)
    assert torch.equal(found[1].weights, found[0].begun)


def test_workers_carry_on_without_one_that_is_lost(train) -> None:
    """This is the MPCA paper's first way of recovering: the remaining workers train and exchange as before, and lose
    nothing."""
    lost = {2: 10}
    found = train(
        MPCA(early=0, tau=5),
        3,
        pace=lambda rank, iteration: math.inf if iteration > lost.get(rank, 1000) else 1.0,
        link=Link(latency=1.5),
        max_iter=40,
    )
    assert len(found) == 2
    for each in found:
        assert each.records[-1].stop - each.records[0].start == 40  # no worker waited
        assert [span.start > 20 for span in spans_of(each, Activity.REDUCE)].count(True) > 3
        assert torch.equal(each.weights, found[0].weights)


def joint_of(model: Tensor, beta: float = 0.9, gamma: float = 0.7, delta: float = 0.8, ramp: int = 0) -> JointModel:
    return JointModel(Motion(beta, gamma, delta, ramp), model, 5, PLACES)


def values(seed: int, size: int = 8) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_the_joint_model_is_blended_and_projected_by_the_equations() -> None:
    joint, model, velocity = joint_of(values(0)), values(0), torch.zeros(3, dtype=torch.float64)
    for cycle in range(1, 4):
        mean = values(cycle, 3)
        joint.update(0, mean)
        blended = (1 - 0.9) * model[:3] + 0.9 * mean  # Eq. 8
        velocity = 0.8 * velocity + (1 - 0.8) * (blended - model[:3])  # Eq. 4
        model[:3] = blended
        projected = torch.empty(3, dtype=torch.float64)
        joint.project(0, projected)
        torch.testing.assert_close(joint.model, model)  # the other shard is unchanged
        torch.testing.assert_close(projected, blended + 0.7 * velocity)  # Eq. 5


def test_values_that_do_not_learn_are_blended_but_not_projected() -> None:
    joint, model, mean = joint_of(values(0)), values(0), values(1, 5)
    joint.update(1, mean)
    projected = torch.empty(5, dtype=torch.float64)
    joint.project(1, projected)
    blended = 0.1 * model[3:] + 0.9 * mean
    torch.testing.assert_close(projected[2:], blended[2:])
    assert not torch.allclose(projected[:2], blended[:2])
    assert joint.velocity.shape == (5,)


def test_with_beta_one_the_joint_model_is_exactly_the_mean() -> None:
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


def test_shards_have_separate_cycles() -> None:
    joint = joint_of(values(0), ramp=1)
    joint.update(0, values(1, 3))  # with beta 1
    joint.update(1, values(2, 5))
    joint.update(0, values(3, 3))  # with beta 0.9
    torch.testing.assert_close(joint.model[3:], values(2, 5))
    torch.testing.assert_close(joint.model[:3], 0.1 * values(1, 3) + 0.9 * values(3, 3))
    assert joint.cycles.tolist() == [2, 1]


def test_long_shards_are_updated_completely() -> None:
    size = (1 << 17) + 40  # more than one piece of work, and the last 20 values don't learn
    model, mean = values(0, size), values(1, size)
    joint = JointModel(Motion(0.9, 0.7, 0.8, 0), model, size - 20, [slice(0, size)])
    joint.update(0, mean)
    torch.testing.assert_close(joint.model, 0.1 * model + 0.9 * mean)
    torch.testing.assert_close(joint.velocity, 0.2 * 0.9 * (mean - model)[:-20])


@pytest.mark.parametrize(("size", "count"), [(4800, 3), (5008, 3), (64, 1), (16, 3), (1 << 20, 7)])
def test_shards_cover_the_buffer_in_nearly_equal_parts(size: int, count: int) -> None:
    shards = cut_into_shards(size, count)
    assert [place.start for place in shards[1:]] == [place.stop for place in shards[:-1]]
    assert (shards[0].start, shards[-1].stop, len(shards)) == (0, size, count)
    lengths = [place.stop - place.start for place in shards]
    assert max(lengths) - min(lengths) <= 32  # each end is rounded to a multiple of 16
    assert all(place.start % 16 == 0 for place in shards)


def test_one_shard_is_reduced_and_broadcast_in_turn() -> None:
    assert [shard_step(number, 1) for number in range(3)] == [
        ShardStep(0, None),
        ShardStep(None, 0),
        ShardStep(0, None),
    ]


def test_with_two_shards_one_is_reduced_while_the_other_is_broadcast() -> None:
    assert [shard_step(number, 2) for number in range(3)] == [ShardStep(0, None), ShardStep(1, 0), ShardStep(0, 1)]


def test_with_three_shards_one_is_left_to_prepare() -> None:
    assert [shard_step(number, 3) for number in range(5)] == [
        ShardStep(0, None),
        ShardStep(1, None),
        ShardStep(2, 0),
        ShardStep(0, 1),
        ShardStep(1, 2),
    ]


@pytest.mark.parametrize("count", range(1, 7))
def test_a_shard_is_broadcast_between_two_reductions(count: int) -> None:
    steps = [shard_step(number, count) for number in range(40)]
    for number, step in enumerate(steps[: 40 - shard_lag(count)]):
        if step.reduced is not None:
            assert steps[number + shard_lag(count)].broadcast == step.reduced
            between = steps[number + 1 : number + shard_lag(count)]
            assert all(each.reduced != step.reduced for each in between)
