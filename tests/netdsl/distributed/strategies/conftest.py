"""Workers of a simulated world that train a tiny net."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.distributed.machines import Link
from netdsl.distributed.run_log import RoundRecord
from netdsl.distributed.strategies.strategy import Strategy, StrategyRun
from netdsl.distributed.worker import Worker
from netdsl.model.model import Model
from netdsl.net.compute_precision import ComputePrecision
from netdsl.simulator.communicator import Network, SimulatedClock, SimulatedCommunicator
from netdsl.simulator.world import Pace, World
from netdsl.solver.solver import Solver
from netdsl.solver.trainable_net import Compute, ModuleNet

PLAIN = """
layer { name: "d" type: "Input" top: "x" top: "y" input_param { shape { dim: 6 dim: 3 } shape { dim: 6 dim: 2 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "h" param { lr_mult: 1 } param { lr_mult: 2 decay_mult: 0 }
        inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
layer { name: "tanh" type: "TanH" bottom: "h" top: "h" }
layer { name: "out" type: "InnerProduct" bottom: "h" top: "p"
        inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "p" bottom: "y" top: "loss" }
"""
NORMED = PLAIN.replace(
    'layer { name: "tanh"', 'layer { name: "bn" type: "BatchNorm" bottom: "h" top: "h" }\nlayer { name: "tanh"'
)

Batch = dict[str, Tensor]
Data = Callable[[int], list[Batch]]  # a rank's batches, which are repeated


def batches_of(rank: int, count: int = 12, size: int = 6) -> list[Batch]:
    """Return batches that differ between ranks."""
    generator = torch.Generator().manual_seed(100 + rank)
    xs = torch.randn(count, size, 3, generator=generator)
    return [{"x": x, "y": (x @ x.new_tensor([[1, 2], [-1, 1], [2, 0]])).sin()} for x in xs]


@dataclass
class Trained:
    """The results of one worker."""

    solver: Solver
    strategy_run: StrategyRun
    worker: Worker
    begun: Tensor  # the initial weights
    models: list[Tensor] = field(default_factory=list)  # after each round, before the end
    own: list[Tensor] = field(default_factory=list)  # the worker's own weights at these times
    records: list[RoundRecord] = field(default_factory=list)
    time: float = 0.0  # the simulated time at the end

    @property
    def weights(self) -> Tensor:
        return self.worker.weights


def solver_of(
    data: list[Batch], seed: int = 7, net: str = PLAIN, precision: ComputePrecision = ComputePrecision.EXACT,
    **settings: object,
) -> Solver:  # fmt: skip
    torch.manual_seed(seed)
    message = from_text(net, pb.NetParameter)
    message.state.phase = pb.TRAIN
    given = {"base_lr": 0.1, "lr_policy": "fixed", "type": "SGD", "max_iter": 8}
    return Solver(
        pb.SolverParameter(**(given | settings)),
        ModuleNet.open(Model(message), Compute(precision=precision), values=data),
    )


def train(
    strategy: Strategy,
    size: int = 2,
    *,
    data: Data = batches_of,
    link: Link | None = None,
    pace: Pace = lambda rank, iteration: 1.0,
    net: str = PLAIN,
    first: Tensor | None = None,
    iteration: int = 0,
    **settings: object,
) -> list[Trained]:
    """Train, and return workers by rank that have done all iterations. All others must receive the first one's weights,
    or `first`."""
    world = World(size, pace)
    network = Network(world, link or Link())

    def work(rank: int) -> Trained:
        solver = solver_of(data(rank), 7 + rank, net, **settings)
        if first is not None and rank == 0:
            solver.weights.buffer.copy_(first)
        worker = Worker(solver, SimulatedCommunicator(network, rank), SimulatedClock(world, rank))
        strategy_run = strategy.begin(worker)
        worker.agree_on_iteration(iteration)
        found = Trained(solver, strategy_run, worker, worker.weights.clone())
        while worker.remaining:
            worker.begin_round()
            found.strategy_run.round()
            found.records.append(worker.end_round())
            found.models.append(found.strategy_run.model().clone())
            found.own.append(worker.weights.clone())
        found.strategy_run.finish()
        found.time = world.now[rank]
        return found

    return world.run(work)


def alone(data: list[Batch], net: str = PLAIN, **settings: object) -> Solver:
    """Return a solver that trained alone from the same weights."""
    solver = solver_of(data, net=net, **settings)
    solver.step(solver.param.max_iter)
    return solver


def gradient(found: Trained, weights: Tensor, number: int) -> Tensor:
    """Return the gradient of a batch's loss at these weights."""
    solver = found.solver
    own = solver.weights.buffer.clone()
    solver.weights.buffer.copy_(weights)
    solver.net.seek(dict.fromkeys(solver.net.positions(), number))
    solver.net.clear_gradients()
    solver.net.forward_backward()
    flat = torch.zeros_like(own)
    for blob in solver.weights.blobs:
        solver.weights.view(flat, blob).copy_(blob.tensor.grad * blob.lr_mult)
    solver.weights.buffer.copy_(own)
    return flat


@pytest.fixture(name="train")
def train_fixture() -> Callable[..., list[Trained]]:
    return train


@pytest.fixture(name="alone")
def alone_fixture() -> Callable[..., Solver]:
    return alone


@pytest.fixture(name="batches")
def batches_fixture() -> Callable[..., list[Batch]]:
    return batches_of


@pytest.fixture(name="gradient")
def gradient_fixture() -> Callable[..., Tensor]:
    return gradient


@pytest.fixture
def normed() -> str:
    """Return a net with BatchNorm's sums."""
    return NORMED
