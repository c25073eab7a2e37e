"""A worker's whole part of a run on its device, whichever launcher started it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import torch

from caffe_proto.errors import CaffeError, few
from caffe_proto.whole_numbers import whole_number
from netdsl.data.sources.class_names import LABELS, write_class_names
from netdsl.distributed.communicator import Communicator
from netdsl.distributed.control.client import ControlClient
from netdsl.distributed.control.heartbeat import Pulse, WatchedCommunicator
from netdsl.distributed.control.protocol import Ending, Join
from netdsl.distributed.launcher import WorkerSpec
from netdsl.distributed.loop import Loop
from netdsl.distributed.run import Run
from netdsl.distributed.run_log import RoundRecord, Told, to_plain
from netdsl.distributed.run_place import RunPlace, run_place
from netdsl.distributed.shipped_code import advice_on_missing_module, code_in_place, shipped_code
from netdsl.distributed.transports.connect import Connect, connect
from netdsl.distributed.transports.transport import Transport
from netdsl.distributed.worker import Clock, Worker
from netdsl.errors import DistributedError, DivergedError, PeerLostError, user_code_problem
from netdsl.model.weights.files import save_net
from netdsl.net.memory import PeakMemory
from netdsl.ranks import working_together
from netdsl.solver import state
from netdsl.solver.events import Action, Listener, Notice, SnapshotSaved
from netdsl.solver.open_solver import open_solver
from netdsl.solver.settings import seed
from netdsl.solver.solver import Solver, ignore_event
from netdsl.solver.used_weights import weights_for_use

MODEL = "model.caffemodel"
MODEL_AT_STOP = "stopped.caffemodel"  # of a run that can be resumed
_SHOWN = 3  # number of layers that a notice names
_BROKEN_SEQUENCES = (
    "the kept state belongs to the next batch of the same sequences, but workers take turns with the data, so "
    "each worker skips parts of the sequences; train with one worker"
)


def run_worker(spec: WorkerSpec, *, connect: Connect = connect, leave: Callable[[str], object] | None = None) -> None:
    """Train the run of a spec, starting from its journal, and report to the supervisor how training ended.

    Every worker reports its records. The first one also reports events, and saves the model at the end. An error is
    reported and then raised again. `connect` returns the worker's communicator.
    """
    options = {} if leave is None else {"leave": leave}
    with (
        working_together(),
        ControlClient(spec.control, spec.rank, spec.beat, **options) as control,
        ExitStack() as stack,
    ):
        try:
            with control.pulse.waiting():
                sends_its_own = spec.rank == 0 and shipped_code() is not None  # as the supervisor's own process
                if spec.ships and not sends_its_own:
                    stack.enter_context(code_in_place(control.fetch_code()))
                place = stack.enter_context(run_place(spec, control))
                run = place.load()
            while (join := control.await_join()) is not None and _take_part(spec, place, run, join, control, connect):
                pass
        except PeerLostError as problem:
            control.report_end(Ending.LOST, str(problem))
            raise
        except Exception as problem:
            reason = user_code_problem(problem) or (str(problem) if isinstance(problem, CaffeError) else None)
            if reason is not None:
                diverged = isinstance(problem, DivergedError)
                advice = advice_on_missing_module(problem, spec.ships)
                control.report_end(Ending.DIVERGED if diverged else Ending.FAILED, f"{reason}{advice}")
            else:
                control.report_end(Ending.CRASHED, f"{type(problem).__name__}: {problem}")
            raise
        control.report_end(Ending.DONE)


def _take_part(
    spec: WorkerSpec, place: RunPlace, run: Run, join: Join, control: ControlClient, connect: Connect
) -> bool:
    """Train among the workers of a membership. Returns whether the worker has left them and takes part again later."""
    reason = ""
    try:
        if not _train_rounds(spec, place, run, join, control, connect):
            return False
    except PeerLostError as problem:
        if not join.elastic:
            raise
        reason = str(problem)
    control.report_left(reason)
    return True


def _train_rounds(
    spec: WorkerSpec, place: RunPlace, run: Run, join: Join, control: ControlClient, connect: Connect
) -> bool:
    """Train to the end, or until a stop. Returns whether the stop only ends this membership."""
    folder, members = place.folder, join.membership.members
    device = worker_device(run.device(spec.local_rank), spec.local_rank, spec.gpus)
    rank, memory = members.index(spec.rank), PeakMemory(device)
    with control.pulse.waiting():
        communicator = WatchedCommunicator(
            connect(Transport(join.transport), control, rank, len(members), device), control.pulse
        )

    def report(what: Told) -> None:
        if isinstance(what, RoundRecord):
            what = replace(what, rank=spec.rank, memory=memory.bytes(), host=socket.gethostname())
        if isinstance(what, RoundRecord | SnapshotSaved):
            place.deliver()
        control.report(place.shown(to_plain(what)))

    def requested() -> Action:
        leaves = control.is_to_leave() or loop.worker.record.number == join.until
        return Action.STOP if leaves or control.is_to_stop() else Action.NONE

    try:
        listen = report if rank == 0 else ignore_event
        opening = open_worker(run, communicator, device=device, listen=listen, pulse=control.pulse)
        with compute_threads(run.threads), opening as worker:
            worker.solver.on_start.append(control.interruption.check)  # so that a long round is interrupted too
            journal, strategy = place.journal(run.keeping), run.strategy
            loop = Loop(
                worker,
                strategy,
                journal=journal,
                membership=join.membership,
                report=report,
                requested=requested,
                check_writer=place.check_writer,
            )
            loop.run()
            if worker.rank == 0 and (not loop.stopped or control.is_to_stop()):
                worker.weights.copy_(loop.strategy_run.model())
                worker.solver.check_finite()
                place.check_writer()
                place.remove(MODEL_AT_STOP)
                with weights_for_use(worker.solver.normalized_outputs):
                    save_net(worker.solver.net.built, folder / (MODEL_AT_STOP if loop.stopped else MODEL))
                if worker.solver.classes:
                    write_class_names(worker.solver.classes, folder / LABELS)
                place.deliver()
            communicator.barrier()  # until here, others may still send requests to the first worker
            return loop.stopped and not control.is_to_stop()
    finally:
        communicator.close()


@contextmanager
def compute_threads(count: int) -> Iterator[None]:
    """Set the number of threads that compute each sum, which affects its last bits, and restore it afterwards."""
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
    """Open a worker that is ready to take part.

    All workers have equal weights. Each has its own data and random numbers.
    """
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
    """Open the solver of one of `size` workers, with its part of the data and its random numbers."""
    loading = replace(run.compute.loading, rank=rank, size=size, divided=run.strategy.divides_batch)
    compute = replace(run.compute, device=device or run.device(rank), loading=loading)
    solver_settings = run.solver
    if rank != 0:  # the first worker tests, displays and saves for all
        solver_settings = run.solver.without_tests().without("display", "snapshot", "debug_info")

    def poll_action() -> Action:
        """Note a sign of life. A test may take long, but polls before every batch."""
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
    """Return the device on the worker's machine that was requested for the worker.

    For a GPU without a number, this is the GPU that a resource manager assigned to the worker. If none was assigned,
    the workers of a machine take its GPUs in turn, by their local ranks. Raises a `DistributedError` if the device
    doesn't exist.
    """
    if requested.type != "cuda":
        return requested
    count, index = torch.cuda.device_count(), requested.index
    if not count:
        although = f", although {assigned[0]} was assigned" if assigned else ""
        raise _missing_device(f"torch finds no GPU{although}; use --device cpu, or see `zoo doctor`")
    if index is None:
        index = _gpu_number(assigned[0]) if assigned else number % count
    if index >= count:
        raise _missing_device(f"cuda:{index} doesn't exist; name one of 0 to {count - 1}")
    return torch.device("cuda", index)


def _gpu_number(address: str) -> int:
    number = whole_number(address)
    if number is None:
        raise _missing_device(f"the assigned GPU is '{address}', which isn't a number; name a device, such as cuda:0")
    return number


def _missing_device(problem: str) -> DistributedError:
    return DistributedError(f"{socket.gethostname()}: {problem}")
