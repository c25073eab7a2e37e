"""A worker's whole part of a run, on the device that it has, whichever launcher started it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch

from caffe_proto.errors import CaffeError, few
from netdsl.data.sources.class_names import LABELS, write_class_names
from netdsl.distributed.communicator import Communicator
from netdsl.distributed.control.client import ControlClient
from netdsl.distributed.control.heartbeat import Pulse, WatchedCommunicator
from netdsl.distributed.control.protocol import Ending, Join
from netdsl.distributed.journal import Journal
from netdsl.distributed.launcher import WorkerSpec
from netdsl.distributed.loop import Loop
from netdsl.distributed.run import Run
from netdsl.distributed.run_log import RoundRecord, Told, to_plain
from netdsl.distributed.transports.connect import Connect, connect
from netdsl.distributed.transports.transport import Transport
from netdsl.distributed.worker import Clock, Worker
from netdsl.errors import DistributedError, PeerLostError, user_code_problem
from netdsl.model.weights.files import save_net
from netdsl.net.memory import PeakMemory
from netdsl.ranks import working_together
from netdsl.solver import state
from netdsl.solver.events import Action, Listener, Notice
from netdsl.solver.open_solver import open_solver
from netdsl.solver.settings import seed
from netdsl.solver.solver import Solver, ignore_event
from netdsl.solver.used_weights import weights_for_use

MODEL = "model.caffemodel"
MODEL_AT_STOP = "stopped.caffemodel"  # of a run that can be resumed
_SHOWN = 3  # layers that a notice names
_BROKEN_SEQUENCES = (
    "what it keeps is for the next batch of the same sequences, and workers take turns with the data, so that each "
    "skips parts of them; train with one worker"
)


def run_worker(spec: WorkerSpec, *, connect: Connect = connect, leave: Callable[[str], object] | None = None) -> None:
    """Train as the run of a spec says, from where its journal is, and tell the supervisor how that ended.

    Every worker reports its records; the first one also reports events, and saves the model at the end. An error is
    raised again after it was reported. `connect` makes the worker's communicator.
    """
    options = {} if leave is None else {"leave": leave}
    with working_together(), ControlClient(spec.control, spec.rank, spec.beat, **options) as control:
        try:
            with control.pulse.waiting():
                run = Run.load(Path(spec.run))
            while (join := control.await_join()) is not None and _take_part(spec, run, join, control, connect):
                pass
        except PeerLostError as problem:
            control.report_end(Ending.LOST, str(problem))
            raise
        except Exception as problem:
            reason = user_code_problem(problem) or (str(problem) if isinstance(problem, CaffeError) else None)
            if reason is not None:
                control.report_end(Ending.FAILED, reason)
            else:
                control.report_end(Ending.CRASHED, f"{type(problem).__name__}: {problem}")
            raise
        control.report_end(Ending.DONE)


def _take_part(spec: WorkerSpec, run: Run, join: Join, control: ControlClient, connect: Connect) -> bool:
    """Train among the workers of a membership; returns whether this one has left them, to take part again later."""
    reason = ""
    try:
        if not _train_rounds(spec, run, join, control, connect):
            return False
    except PeerLostError as problem:
        if not join.elastic:
            raise
        reason = str(problem)
    control.report_left(reason)
    return True


def _train_rounds(spec: WorkerSpec, run: Run, join: Join, control: ControlClient, connect: Connect) -> bool:
    """Train to the end, or until a stop; returns whether the stop is only for this membership."""
    folder, members = Path(spec.run), join.membership.members
    device = worker_device(run.device(spec.local_rank), spec.local_rank, spec.gpus)
    rank, memory = members.index(spec.rank), PeakMemory(device)
    with control.pulse.waiting():
        communicator = WatchedCommunicator(
            connect(Transport(spec.transport), control, rank, len(members), device), control.pulse
        )

    def report(what: Told) -> None:
        if isinstance(what, RoundRecord):
            what = replace(what, rank=spec.rank, memory=memory.bytes(), host=socket.gethostname())
        control.report(to_plain(what))

    def requested() -> Action:
        leaves = control.is_to_leave() or loop.worker.record.number == join.until
        return Action.STOP if leaves or control.is_to_stop() else Action.NONE

    try:
        listen = report if rank == 0 else ignore_event
        opening = open_worker(run, communicator, device=device, listen=listen, pulse=control.pulse)
        with compute_threads(run.threads), opening as worker:
            worker.solver.on_start.append(control.interruption.check)  # rounds may be long
            journal, strategy = Journal(folder / "rounds", run.keeping), run.strategy
            loop = Loop(
                worker, strategy, journal=journal, membership=join.membership, report=report, requested=requested
            )
            loop.run()
            if worker.rank == 0 and (not loop.stopped or control.is_to_stop()):
                worker.weights.copy_(loop.strategy_run.model())
                worker.solver.check_finite()
                (folder / MODEL_AT_STOP).unlink(missing_ok=True)
                with weights_for_use(worker.solver.normalized_outputs):
                    save_net(worker.solver.net.built, folder / (MODEL_AT_STOP if loop.stopped else MODEL))
                if worker.solver.classes:
                    write_class_names(worker.solver.classes, folder / LABELS)
            communicator.barrier()  # nobody leaves while others may still ask the first one for something
            return loop.stopped and not control.is_to_stop()
    finally:
        communicator.close()


@contextmanager
def compute_threads(count: int) -> Iterator[None]:
    """Let this many threads compute each sum, which decides on its last bits; afterwards as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def open_worker(
    run: Run,
    communicator: Communicator,
    *,
    device: torch.device | None = None,
    clock: Clock | None = None,
    listen: Listener = ignore_event,
    pulse: Pulse | None = None,
) -> Iterator[Worker]:
    """A worker that is ready to take part. All have equal weights, each its own data and random numbers."""
    rank, size = communicator.rank, communicator.size
    with open_solver_of(run, rank, size, device=device, listen=listen, pulse=pulse) as solver:
        yield Worker(solver, communicator, clock, pulse, run.intervals)


@contextmanager
def open_solver_of(
    run: Run,
    rank: int,
    size: int,
    *,
    device: torch.device | None = None,
    listen: Listener = ignore_event,
    pulse: Pulse | None = None,
) -> Iterator[Solver]:
    """The solver of one of `size` workers, with its part of the data and its random numbers."""
    loading = replace(run.compute.loading, rank=rank, size=size, divided=run.strategy.divides_batch)
    compute = replace(run.compute, device=device or run.device(rank), loading=loading)
    solver_settings = run.solver
    if rank != 0:  # the first worker tests, tells and saves for all
        solver_settings = run.solver.without_tests().without("display", "snapshot", "debug_info")

    def poll_action() -> Action:
        """Testing may take long, and asks before every batch."""
        if pulse is not None:
            pulse.beat()
        return Action.NONE

    with open_solver(
        solver_settings,
        folder=run.folder,
        compute=compute,
        weights=run.weights,
        tables=run.tables,
        listen=listen,
        poll_action=poll_action,
        require_finite=run.require_finite,
    ) as solver:
        names = [f"layer '{node.layer.name}'" for node, _ in solver.net.built.remembering_layers()]
        if size > 1 and names:
            listen(Notice(f"{few(names, _SHOWN)}: {_BROKEN_SEQUENCES}"))
        seed(solver_settings.param, rank)
        if run.snapshot is not None:
            state.restore(solver, run.snapshot)
        yield solver


def worker_device(requested: torch.device, number: int, assigned: Sequence[str] = ()) -> torch.device:
    """Return the device that was requested for a worker, on its own machine; a DistributedError if it isn't there.

    A GPU without a number is the one that a resource manager assigned to the worker. Where none was assigned, workers
    of a machine take its GPUs in turn, by their numbers there.
    """
    if requested.type != "cuda":
        return requested
    count, index = torch.cuda.device_count(), requested.index
    if not count:
        raise _missing_device(f"torch sees no GPU{f', though {assigned[0]} was assigned' if assigned else ''}")
    if index is None:
        index = _gpu_number(assigned[0]) if assigned else number % count
    if index >= count:
        raise _missing_device(f"there is no cuda:{index}, the GPUs are 0 to {count - 1}")
    return torch.device("cuda", index)


def _gpu_number(address: str) -> int:
    if not address.isdecimal():
        raise _missing_device(
            f"the GPU that was assigned is '{address}', which isn't a number; name a device, such as cuda:0"
        )
    return int(address)


def _missing_device(problem: str) -> DistributedError:
    return DistributedError(f"{socket.gethostname()}: {problem}")
