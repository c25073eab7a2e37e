"""The planner's predictions for strategies, compared with the simulator's clock in real training runs of a small
net."""

from __future__ import annotations

import math

import numpy as np
import pytest
from google.protobuf import text_format

from caffe_proto import caffe_pb2 as pb
from netdsl.distributed.machines import ExchangeKind, Link, Machines, SparkLink, TwoLevelLink
from netdsl.distributed.run import Run
from netdsl.distributed.run_worker import open_worker
from netdsl.distributed.strategies.settings import parse
from netdsl.distributed.strategies.strategy import ModelSize
from netdsl.errors import DistributedError
from netdsl.planner.exchange import predict, slowest_seconds, steps_until
from netdsl.simulator.communicator import Network, SimulatedCommunicator
from netdsl.simulator.simulate import simulate
from netdsl.simulator.world import World
from netdsl.solver.settings import open_settings

SOLVER = """
base_lr: 0.01 lr_policy: "fixed" max_iter: 13 random_seed: 3 snapshot_after_train: false
net_param {
  layer { name: "data" type: "Data" top: "data" top: "label"
    data_param { source: "digits:train" batch_size: 12 } transform_param { scale: 0.00390625 } }
  layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" param { lr_mult: 1 } param { lr_mult: 2 }
    inner_product_param { num_output: 16 weight_filler { type: "xavier" } } }
  layer { name: "norm" type: "BatchNorm" bottom: "ip" top: "norm" }
  layer { name: "ip2" type: "InnerProduct" bottom: "norm" top: "ip2" param { lr_mult: 1 } param { lr_mult: 2 }
    inner_product_param { num_output: 16 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" }
}
"""
LINKS = {
    "free": Link(),
    "slow": Link(4e3, 0.0),
    "late": Link(1e5, 0.3),
    "spark": SparkLink(4e3, 0.01, codec=1e4, job=0.2),
    "two levels": TwoLevelLink(4e3, 0.01, inside=Link(4e4, 0.001), per_machine=2),
}
TOGETHER = ["averaging:tau=6", "averaging:tau=5,warmup=4", "elastic-sync:tau=6", "outer:tau=8", "allreduce:tau=6"]


def settings() -> pb.SolverParameter:
    return text_format.Parse(SOLVER, pb.SolverParameter())


def size_of_model() -> ModelSize:
    communicator = SimulatedCommunicator(Network(World(1), Link()), 0)
    with open_worker(Run(open_settings(settings())).settled(), communicator) as worker:
        size = ModelSize.of(worker.solver.weights)
        assert (size.bytes, size.learned_bytes) == (worker.weights.nbytes, 4 * worker.learned)
        return size


@pytest.fixture(scope="module")
def model() -> ModelSize:
    return size_of_model()


def clock(strategy: str, machines: Machines, link: Link) -> float:
    return simulate(Run(open_settings(settings()), parse(strategy), machines.size), link=link, pace=machines).time


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize(
    "strategy",
    [
        "averaging:tau=5",
        "averaging:seconds=1.3,warmup=4",
        "elastic-sync:tau=6",
        "outer:tau=4",
        "allreduce:tau=6,bucket=0.001",
        "elastic:tau=5",
        "elastic:tau=1",
    ],
)
def test_the_prediction_equals_the_simulators_clock(strategy: str, size: int, link: Link, model: ModelSize) -> None:
    machines = Machines(0.5, size)
    predicted = predict(parse(strategy), model, machines, link).run(13)
    assert predicted == pytest.approx(clock(strategy, machines, link), rel=1e-6)


@pytest.mark.parametrize("bandwidth", [4e3, 4e4])
def test_a_measured_tau_follows_the_rule(bandwidth: float, model: ModelSize) -> None:
    machines, link = Machines(0.5, 4), Link(bandwidth)
    time = predict(parse("averaging:tau=auto"), model, machines, link)
    assert time.tau == math.ceil(5 * link.seconds(ExchangeKind.MEAN, 4, model.bytes) / 0.5)
    assert time.run(13) == pytest.approx(clock("averaging:tau=auto", machines, link), rel=1e-6)


@pytest.mark.parametrize(("size", "link"), [(2, "slow"), (4, "late"), (4, "two levels")])
@pytest.mark.parametrize("strategy", ["averaging:tau=5", "averaging:seconds=1.3", "allreduce:tau=6", "outer:tau=5"])
def test_stragglers_delay_all_workers_as_in_the_simulator(
    strategy: str, size: int, link: str, model: ModelSize
) -> None:
    machines = Machines(0.5, size, stragglers=1, slowdown=3.0)
    predicted = predict(parse(strategy), model, machines, LINKS[link]).run(13)
    assert predicted == pytest.approx(clock(strategy, machines, LINKS[link]), rel=1e-6)


@pytest.mark.parametrize(("size", "slowdown", "bandwidth"), [(2, 2.0, 4e4), (4, 2.0, 4e3)])
def test_at_a_server_stragglers_delay_only_themselves(
    size: int, slowdown: float, bandwidth: float, model: ModelSize
) -> None:
    machines, link = Machines(0.5, size, 1, slowdown), Link(bandwidth, 0.01)
    predicted = predict(parse("elastic:tau=2"), model, machines, link).run(13)
    assert predicted == pytest.approx(clock("elastic:tau=2", machines, link), rel=0.05)


@pytest.mark.parametrize("strategy", ["mpca:tau=5", "mpca:tau=5,shards=2", "mpca:tau=5,shards=1"])
@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
@pytest.mark.parametrize("size", [1, 2, 4])
def test_overlapped_exchanges_do_not_slow_training(strategy: str, link: Link, size: int, model: ModelSize) -> None:
    """The exchange that is under way at the end takes from no time to a full exchange. The prediction is the upper
    end."""
    machines = Machines(0.5, size, stragglers=1 if size > 2 else 0, slowdown=1.5)
    predicted, found = predict(parse(strategy), model, machines, link), clock(strategy, machines, link)
    assert predicted.round.total == 2.5
    assert predicted.run(13) - 2 * predicted.hidden_cycle <= found <= predicted.run(13) + 1e-6


@pytest.mark.parametrize("strategy", ["averaging:tau=4", "averaging:seconds=2", "allreduce:tau=4", "elastic:tau=2"])
def test_with_jitter_the_prediction_is_the_mean(strategy: str, model: ModelSize) -> None:
    link = Link(4e4, 0.01)
    machines = [Machines(0.5, 3, jitter=0.3, seed=seed) for seed in range(5)]
    mean = sum(clock(strategy, each, link) for each in machines) / len(machines)
    assert predict(parse(strategy), model, machines[0], link).run(13) == pytest.approx(mean, rel=0.05)


def test_an_epoch_is_shared_by_workers_that_average(model: ModelSize) -> None:
    link, machines = Link(4e3), Machines(0.5, 4)
    time = predict(parse("averaging:tau=5"), model, machines, link)
    exchange = 2 * 3 / 4 * model.bytes / 4e3
    assert (time.round.computing, time.round.waiting) == (2.5, 0.0)
    assert time.round.exchanging == pytest.approx(exchange)
    assert time.epoch(1000, 10) == pytest.approx(100 / 4 / 5 * (2.5 + exchange))
    assert time.iterations_per_second == pytest.approx(4 * 5 / (2.5 + exchange))


def test_an_epoch_of_divided_batches_has_as_many_iterations_as_that_of_one_machine(model: ModelSize) -> None:
    time = predict(parse("allreduce:tau=5"), model, Machines(0.5, 4), Link())
    assert time.epoch(1000, 10) == pytest.approx(100 * 0.5)


def test_an_overloaded_server_sets_the_pace(model: ModelSize) -> None:
    link, once = Link(4e3), model.bytes / 4e3
    quick = predict(parse("elastic:tau=1"), model, Machines(0.1, 8), link)
    assert quick.round.total == pytest.approx(8 * once)
    assert quick.iterations_per_second == pytest.approx(1 / once)
    slow = predict(parse("elastic:tau=100"), model, Machines(0.5, 8), link)
    assert slow.round.total == pytest.approx(50 + once)
    assert slow.round.waiting == pytest.approx(0.0)


def test_exchanges_overlap_the_backward_pass_except_the_last_bucket(model: ModelSize) -> None:
    strategy, link, machines = parse("allreduce:tau=1,bucket=0.001"), Link(4e3), Machines(10.0, 2)
    shown = predict(strategy, model, machines, link).round.exchanging
    pieces = strategy.traffic(model).iteration[0].pieces
    assert pieces > 2
    hidden = predict(strategy, model, machines, link, backward=9.0).round.exchanging
    statistics = model.statistics / 4e3
    assert hidden - statistics == pytest.approx((shown - statistics) / pieces)
    partly = predict(strategy, model, machines, link, backward=0.1).round.exchanging
    assert partly == pytest.approx(shown - 0.1 * (pieces - 1) / pieces)


def test_a_backward_pass_is_part_of_an_iteration(model: ModelSize) -> None:
    with pytest.raises(DistributedError, match="the backward pass can't take 2 s of an iteration of 1 s"):
        predict(parse("allreduce"), model, Machines(1.0, 2), Link(), backward=2.0)


@pytest.mark.parametrize(
    ("machines", "iterations", "wanted"),
    [
        (Machines(2.0, 4), 5, 10.0),
        (Machines(2.0, 4, stragglers=1, slowdown=3.0), 5, 30.0),
        (Machines(2.0, 4, stragglers=1, slowdown=0.5), 5, 10.0),
        (Machines(2.0, 2, stragglers=2, slowdown=0.5), 5, 5.0),
        (Machines(2.0, 1, jitter=0.5), 5, 10.0),  # jitter doesn't change the mean
        (Machines(0.0, 4, jitter=0.5), 5, 0.0),
        (Machines(2.0, 4, jitter=0.5), 0, 0.0),
    ],
)
def test_without_jitter_the_slowest_worker_decides(machines: Machines, iterations: int, wanted: float) -> None:
    assert slowest_seconds(machines, iterations) == pytest.approx(wanted)


@pytest.mark.parametrize("jitter", [0.05, 0.3, 1.0])
@pytest.mark.parametrize(("size", "stragglers"), [(2, 0), (8, 0), (8, 1), (64, 3)])
def test_one_iteration_takes_the_mean_maximum_of_lognormal_times(jitter: float, size: int, stragglers: int) -> None:
    machines = Machines(2.0, size, stragglers, 1.2, jitter)
    times = np.random.default_rng(1).lognormal(-(jitter**2) / 2, jitter, (200_000, size)) * 2.0
    times[:, size - stragglers :] *= 1.2
    assert slowest_seconds(machines, 1) == pytest.approx(times.max(axis=1).mean(), rel=0.01)


@pytest.mark.parametrize("iterations", [2, 10])
def test_several_iterations_take_nearly_the_mean_of_the_largest_sum(iterations: int) -> None:
    machines = Machines(2.0, 8, jitter=0.5)
    sums = sum(np.random.default_rng(n).lognormal(-(0.5**2) / 2, 0.5, (100_000, 8)) * 2.0 for n in range(iterations))
    assert slowest_seconds(machines, iterations) == pytest.approx(sums.max(axis=1).mean(), rel=0.01)


@pytest.mark.parametrize(("seconds", "step", "wanted"), [(4.0, 1.5, 3), (4.5, 1.5, 3), (0.1, 1.5, 1), (4.0, 0.0, 1)])
def test_an_iteration_that_is_begun_is_finished(seconds: float, step: float, wanted: int) -> None:
    assert steps_until(seconds, step, 0.0) == wanted


def test_with_jitter_the_average_number_of_iterations_is_predicted() -> None:
    times = np.random.default_rng(1).lognormal(-(0.4**2) / 2, 0.4, (100_000, 40)) * 1.5
    begun = 1 + (times.cumsum(axis=1) < 10.0).sum(axis=1)
    assert steps_until(10.0, 1.5, 0.4) == pytest.approx(begun.mean(), rel=0.01)
