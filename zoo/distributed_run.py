"""Training runs with several workers, each in a folder, in which it is begun and resumed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from netdsl.distributed.journal import Retention, read_memberships
from netdsl.distributed.run import Run
from netdsl.distributed.run_log import RoundRecord, Told, open_run_log
from netdsl.distributed.strategies.all_reduce import AllReduce
from netdsl.distributed.supervisor import End
from netdsl.distributed.transports.transport import Transport
from netdsl.errors import DistributedError
from netdsl.model.model import Model
from netdsl.model.opening import open_files
from netdsl.solver.events import Action, Event, Listener, no_action
from netdsl.solver.settings import find_weights
from zoo.backends import Backend, LocalBackend
from zoo.run_starts import note_start
from zoo.training import find_start
from zoo.worker_count import WorkerCount

_RETENTION = Retention(every=50)  # rounds, of a run in a temporary folder


def begin(run: Run, folder: Path, backend: Backend, weights: Sequence[Model] | None = None) -> Run:
    """Begin a run in a folder, with everything fixed that is needed to repeat it. Its snapshots go there too.

    `weights` are those that the run names, where they are open already. The result is the run that the folder has.
    """
    if run.snapshot is not None:
        raise DistributedError("a run of several workers goes on with --resume; --snapshot is for one worker")
    return _begin(_with_snapshots_in(run, folder), folder, backend, weights)


def _with_snapshots_in(run: Run, folder: Path) -> Run:
    prefix = folder.resolve() / Path(run.solver.param.snapshot_prefix).name
    return replace(run, solver=run.solver.with_fields(snapshot_prefix=str(prefix)))


def _begin(run: Run, folder: Path, backend: Backend, weights: Sequence[Model] | None = None) -> Run:
    cores = backend.cores(run.workers)
    loading = replace(run.compute.loading, workers=min(run.compute.loading.workers, cores))
    compute = replace(run.compute, loading=loading)
    run = replace(run, compute=compute, threads=cores).settled()
    return backend.begin(run, folder, _weights_of(run, backend) if weights is None else weights)


def _weights_of(run: Run, backend: Backend) -> list[Model]:
    """The weights of the files that a run names, in the process that begins it."""
    if not backend.supervises:
        return []
    return open_files(find_weights(run.weights, run.folder), run.solver.trained)


def train(
    folder: Path,
    backend: Backend,
    *,
    run: Run | None = None,
    listeners: Sequence[Listener] = (),
    on_restart: Callable[[int, str], object] = lambda attempt, reason: None,
    note: Callable[[str], object] = lambda note: None,
    requested: Callable[[], Action] = no_action,
    transport: Transport | None = None,
    workers: WorkerCount | None = None,
    deadline: float | None = None,
    command: Sequence[str] = (),
) -> End | None:
    """Train the run in a folder to its end, from its beginning or from its last saved round.

    `run` is that one, if this process has begun it. A transport, a number of workers and a deadline that are named take
    the place of the run's own. The command that this is the work of is noted in the folder. The result is how the run
    ended, if this process supervises the workers.
    """
    if not backend.supervises:
        return backend.train(folder)
    run = run or Run.load(folder)  # first of all: where no run begins no file is made
    changed = _change(run, folder, transport, workers, deadline)
    if changed != run:
        changed.save(folder, again=True)
    note_start(folder, command)
    with open_run_log(folder) as write:

        def on_report(report: Told) -> None:
            write(report)
            if not isinstance(report, RoundRecord):
                for listener in listeners:
                    listener(report)

        return backend.train(folder, run=changed, told=on_report, on_restart=on_restart, note=note, requested=requested)


def _change(
    run: Run, folder: Path, transport: Transport | None, workers: WorkerCount | None, deadline: float | None
) -> Run:
    """The run with what is named. For other workers a transport is chosen anew, unless one is named."""
    if workers is not None and run.memberships:
        raise DistributedError(f"{folder}: is a replay, which goes on with the workers that the run had")
    if workers is not None and workers != (run.workers, run.fewest):
        run = replace(run, workers=workers.most, fewest=workers.fewest, transport=None)
    return replace(
        run,
        transport=run.transport if transport is None else transport,
        deadline=run.deadline if deadline is None else deadline,
    )


def begin_replay(original: Path, folder: Path, backend: Backend) -> Run:
    """Begin a run in another folder in which workers leave and come after the same rounds as in an earlier one."""
    run, memberships = Run.load(original), read_memberships(original)
    if not memberships or memberships[0].after:
        raise DistributedError(f"{original}: doesn't say which workers took part from its first round on")
    if not run.strategy.synchronous:
        raise DistributedError(
            f"{original}: workers that train with {run.strategy.name} meet when they happen to, which can't be replayed"
        )
    workers = 1 + max(number for membership in memberships for number in membership.members)
    run = replace(run, workers=workers, fewest=None, memberships=memberships)
    return backend.begin(_with_snapshots_in(run, folder), folder, _weights_of(run, backend))


def train_on_devices(
    run: Run,
    *,
    listeners: Sequence[Listener] = (),
    on_restart: Callable[[int, str], object] = lambda attempt, reason: None,
    requested: Callable[[], Action] = no_action,
) -> End | None:
    """Train as Caffe does with `-gpu 0,1`: each device has a batch, and their gradients are averaged in every step."""

    def listen(event: Event) -> None:
        for listener in listeners:
            listener(event)

    start = find_start(run, listen)
    several = replace(
        run,
        strategy=AllReduce(divides_batch=False),
        workers=len(run.devices),
        snapshot=None if start is None else str(start.resolve()),
        weights=run.weights if start is None else (),
        keeping=_RETENTION,
    )
    with TemporaryDirectory(prefix="netdsl-") as temporary:
        folder, backend = Path(temporary, "run"), LocalBackend()
        begun = _begin(several, folder, backend)
        return train(folder, backend, run=begun, listeners=listeners, on_restart=on_restart, requested=requested)
