"""Runs of a small net on digits with workers of a simulated world."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch
from google.protobuf import text_format
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.data.tables.table import Table
from netdsl.distributed.journal import Journal, Membership
from netdsl.distributed.loop import Loop
from netdsl.distributed.machines import Link
from netdsl.distributed.run import Run
from netdsl.distributed.run_log import RoundRecord
from netdsl.distributed.run_worker import compute_threads, open_worker
from netdsl.distributed.strategies.settings import parse
from netdsl.net.compute_precision import ComputePrecision
from netdsl.net.graph import Phase
from netdsl.simulator.communicator import Network, SimulatedClock, SimulatedCommunicator
from netdsl.simulator.world import Pace, World
from netdsl.solver.events import Action, Event
from netdsl.solver.settings import open_settings
from netdsl.solver.trainable_net import Compute

SOLVER = """
base_lr: 0.05 lr_policy: "multistep" gamma: 0.5 stepvalue: [4, 9] momentum: 0.9 max_iter: 12 random_seed: 3
snapshot_after_train: false test_iter: 2 test_interval: 6 test_initialization: false
net_param {
  layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TRAIN }
    data_param { source: "digits:train" batch_size: 6 } transform_param { scale: 0.00390625 } }
  layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TEST }
    data_param { source: "digits:test" batch_size: 20 } transform_param { scale: 0.00390625 } }
  layer { name: "drop" type: "Dropout" bottom: "data" top: "drop" dropout_param { dropout_ratio: 0.2 } }
  layer { name: "ip" type: "InnerProduct" bottom: "drop" top: "ip"
    inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
  layer { name: "norm" type: "BatchNorm" bottom: "ip" top: "norm" }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "norm" bottom: "label" top: "loss" }
  layer { name: "accuracy" type: "Accuracy" bottom: "norm" bottom: "label" top: "accuracy" include { phase: TEST } }
}
"""


@dataclass
class FinishedRun:
    """The final results of workers, and the messages that they logged."""

    weights: list[Tensor] = field(default_factory=list)
    records: list[RoundRecord] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    times: Sequence[float] = ()


Simulate = Callable[..., FinishedRun]


@pytest.fixture
def param() -> pb.SolverParameter:
    """Return settings of twelve quick iterations that use everything a saved state contains."""
    found: pb.SolverParameter = text_format.Parse(SOLVER, pb.SolverParameter())
    return found


@pytest.fixture
def run(param: pb.SolverParameter) -> Simulate:
    """Train with a strategy and this many workers. With a journal, a run that stopped after some rounds resumes."""

    def ran(
        strategy: str,
        size: int = 2,
        *,
        journal: Journal | None = None,
        membership: Membership | None = None,
        began: dict[int, tuple[Tensor, Tensor]] | None = None,
        tables: Mapping[Phase, Table] | None = None,
        stop: int = -1,
        check_writer: Callable[[], object] = lambda: None,
        precision: ComputePrecision = ComputePrecision.EXACT,
        link: Link | None = None,
        pace: Pace = lambda rank, iteration: 1.0,
    ) -> FinishedRun:
        plan = Run(
            open_settings(param), parse(strategy), size, tables=tables or {}, compute=Compute(precision=precision)
        ).settled()
        world, found = World(size, pace), FinishedRun()
        network = Network(world, link or Link())

        def work(rank: int) -> Tensor:
            communicator, clock = SimulatedCommunicator(network, rank), SimulatedClock(world, rank)
            with open_worker(plan, communicator, clock=clock, listen=found.events.append) as worker:

                def requested() -> Action:
                    return Action.STOP if worker.record.number == stop else Action.NONE

                report = found.records.append
                loop = Loop(
                    worker,
                    plan.strategy,
                    journal=journal,
                    membership=membership,
                    report=report,
                    requested=requested,
                    check_writer=check_writer,
                )
                if began is not None:  # the history and the random numbers with which each worker begins
                    history = next(iter(worker.solver.updater.histories))
                    began[rank] = history.clone(), torch.get_rng_state()
                loop.run()
                return worker.weights.clone()

        with compute_threads(plan.threads):
            found.weights, found.times = world.run(work), world.now
        return found

    return ran


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder for a journal."""
    return tmp_path / "rounds"
