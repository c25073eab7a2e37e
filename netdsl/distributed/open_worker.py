"""A worker of a run, made ready from its plan."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.reading import BadItems, Loading
from netdsl.distributed.clock import Clock
from netdsl.distributed.communicator import Communicator
from netdsl.distributed.plan import Plan
from netdsl.distributed.worker import Worker
from netdsl.solver.events import Listener
from netdsl.solver.module_net import Compute
from netdsl.solver.open_solver import open_solver
from netdsl.solver.settings import seed
from netdsl.solver.solver import Action, ignore_event


@contextmanager
def compute_threads(threads: int) -> Iterator[None]:
    """So many threads compute each sum, which decides on its last bits; afterwards as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def open_worker(
    plan: Plan, communicator: Communicator, *, clock: Clock | None = None, listen: Listener = ignore_event
) -> Iterator[Worker]:
    """A worker that is ready to take part. All have equal weights, each its own data and random numbers."""
    loading = Loading(
        rank=communicator.rank,
        size=communicator.size,
        divided=plan.strategy.divides_batch,
        workers=plan.decoders,
        bad=BadItems.SKIP if plan.skip_bad else BadItems.STOP,
    )
    device = torch.device(plan.devices[communicator.rank % len(plan.devices)])
    compute = Compute(device, getattr(torch, plan.precision), plan.compiled, loading)
    param = plan.param if communicator.rank == 0 else _only_training(plan.param)

    def alive() -> Action:
        """Testing may take long, and asks before every batch."""
        communicator.alive()
        return Action.NONE

    with open_solver(
        param,
        folder=Path(plan.folder),
        compute=compute,
        weights=plan.weights,
        tables=plan.tables,
        listen=listen,
        poll_action=alive,
    ) as solver:
        seed(param, communicator.rank)
        yield Worker(solver, communicator, clock)


def _only_training(param: pb.SolverParameter) -> pb.SolverParameter:
    """The first worker tests, shows and saves for all."""
    changed = pb.SolverParameter()
    changed.CopyFrom(param)
    for name in ("test_iter", "test_interval", "test_net_param", "test_state", "display", "snapshot", "debug_info"):
        changed.ClearField(name)
    return changed
