"""The job of training: a run begins, in a folder or in this process alone, is trained, and tells events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from caffe_proto.errors import FileError, MissingExtraError
from netdsl.data.tables.table import Table
from netdsl.distributed.journal import Retention, read_memberships
from netdsl.distributed.run import NEWEST, Run, exists
from netdsl.distributed.run_log import RoundRecord, Told, open_run_log
from netdsl.distributed.run_starts import note_start
from netdsl.distributed.run_worker import MODEL
from netdsl.distributed.strategies.all_reduce import AllReduce
from netdsl.distributed.supervisor import End
from netdsl.distributed.transports.transport import Transport
from netdsl.distributed.worker_count import WorkerCount
from netdsl.errors import DataError, DistributedError, SolverError
from netdsl.model.model import Model
from netdsl.model.opening import open_files, store_for_workers
from netdsl.net.feed import Feeds
from netdsl.net.graph import Phase, resolve_own_state
from netdsl.solver import state
from netdsl.solver.events import Action, Event, Listener, Notice, no_action
from netdsl.solver.length import Intervals
from netdsl.solver.open_solver import open_solver
from netdsl.solver.settings import SolverSettings, find_weights
from netdsl.solver.snapshot_files import newest
from netdsl.solver.solver import Solver
from netdsl.training.backends import HERE, PATIENCE, Backend, await_all

DISPLAYS = 50  # of the loss in a program's training, if its settings don't say when
_RETENTION = Retention(every=50)  # rounds, of a run in a temporary folder
_ENDED = "ended"  # a file of a run's folder, by which the first of several processes tells the others


def begin(run: Run, folder: Path, backend: Backend, weights: Sequence[Model] | None = None) -> Run:
    """Begin a run in a folder, with everything fixed that is needed to repeat it. Its snapshots go there too.

    `weights` are those that the run names, where they are open already. The result is the run that the folder has. A
    process that another one supervises begins nothing.
    """
    if run.snapshot is not None:
        raise DistributedError("a run of several workers goes on with --resume; --snapshot is for one worker")
    run = _with_share_of_cores(_with_snapshots_in(run, folder), backend)
    return _begin_in_folder(run.settled(), folder, backend, weights)


def begin_or_resume(run: Run, folder: Path, backend: Backend, weights: Sequence[Model] | None = None) -> Run:
    """Begin a run in a folder, or find the one that was begun there with the same settings and was interrupted.

    `weights` are those that a new one begins with, if it names none.
    """
    if (folder / MODEL).exists():
        raise DistributedError(f"{folder}: has a run that is finished; name another folder for a new one")
    if not exists(folder):
        return begin(run, folder, backend, weights)
    found, wanted = Run.load(folder), _with_share_of_cores(_with_snapshots_in(run, folder), backend)
    names = [Path(path).stem.partition("_")[2] for path in found.weights]
    if run.weights and names != [Path(path).stem.removesuffix(".caffemodel") for path in run.weights]:
        raise DistributedError(f"{folder}: has a run that began with other weights; name another folder")
    if wanted.solver.param.random_seed < 0:
        wanted = replace(wanted, solver=wanted.solver.with_fields(random_seed=found.solver.param.random_seed))
    wanted = replace(
        wanted.settled(),
        weights=found.weights,
        folder=found.folder,
        transport=run.transport or found.transport,
        devices=run.devices or found.devices,
    )
    if wanted != found:
        raise DistributedError(f"{folder}: has a run with other settings; name another folder")
    return found


def _with_snapshots_in(run: Run, folder: Path) -> Run:
    prefix = folder.resolve() / Path(run.solver.param.snapshot_prefix or "snapshot").name
    return replace(run, solver=run.solver.with_fields(snapshot_prefix=str(prefix)))


def _with_share_of_cores(run: Run, backend: Backend) -> Run:
    cores = backend.cores(run.workers)
    loading = replace(run.compute.loading, workers=min(run.compute.loading.workers, cores))
    return replace(run, compute=replace(run.compute, loading=loading), threads=cores)


def _begin_in_folder(run: Run, folder: Path, backend: Backend, weights: Sequence[Model] | None) -> Run:
    """Return the run that a folder has from now on, once all that it needs was opened.

    Its weights are stored there as files that all workers read.
    """
    backend.check(run)
    if not backend.supervises:
        return run
    if backend.resumes and exists(folder):
        return Run.load(folder)
    with backend.leading():
        return _run_in_new_folder(run, folder, backend, weights)


def _run_in_new_folder(run: Run, folder: Path, backend: Backend, weights: Sequence[Model] | None) -> Run:
    if weights is None:
        weights = open_files(find_weights(run.weights, run.folder), run.solver.trained)
    if backend.remote:  # data may be out of this machine's reach, which workers tell
        for model in (run.solver.trained, *run.solver.tested):
            resolve_own_state(model.net)
        with suppress(DataError, FileError, MissingExtraError):
            _open_everything(run, weights)
    else:
        _open_everything(run, weights)
    if not exists(folder):  # otherwise saving is refused
        run = replace(run, weights=store_for_workers(weights, folder))
    run.save(folder)
    return run


def _open_everything(run: Run, weights: Sequence[Model]) -> None:
    """Open all that a run needs, so that a mistake in it is found before the run takes its folder."""
    compute = replace(run.compute, device=torch.device("cpu"))
    with open_solver(run.solver, compute=compute, weights=weights, tables=run.tables):
        pass


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
    return _begin_in_folder(_with_snapshots_in(run, folder), folder, backend, None)


def train(
    folder: Path,
    backend: Backend,
    *,
    run: Run | None = None,
    listeners: Sequence[Listener] = (),
    on_round: Callable[[RoundRecord], object] = lambda record: None,
    requested: Callable[[], Action] = no_action,
    transport: Transport | None = None,
    workers: WorkerCount | None = None,
    deadline: float | None = None,
    command: Sequence[str] = (),
) -> End | None:
    """Train the run in a folder to its end, from its beginning or from its last saved round.

    `run` is that one, if this process has begun it. A transport, a number of workers and a deadline that are named take
    the place of the run's own. The command that this is the work of is noted in the folder. The result is how the run
    ended, if this process supervises the workers; only there `listeners` get the events, and `on_round` the records.
    """
    if not backend.supervises:
        return backend.train(folder, None, lambda told: None, no_action)
    with ExitStack() as stack:
        stack.enter_context(backend.leading())
        run = run or Run.load(folder)  # first of all: where no run begins no file is made
        changed = _with_choices(run, folder, transport, workers, deadline)
        if changed != run:
            changed.save(folder, again=True)
        (folder / _ENDED).unlink(missing_ok=True)
        note_start(folder, command)
        write, listen = stack.enter_context(open_run_log(folder)), _passing_on(listeners)

        def log_and_pass_on(report: Told) -> None:
            write(report)
            if isinstance(report, RoundRecord):
                on_round(report)
            else:
                listen(report)

        return backend.train(folder, changed, log_and_pass_on, requested)


def _passing_on(listeners: Sequence[Listener]) -> Listener:
    """Return a listener that passes events on to others."""

    def listen(event: Event) -> None:
        for listener in listeners:
            listener(event)

    return listen


def _with_choices(
    run: Run, folder: Path, transport: Transport | None, workers: WorkerCount | None, deadline: float | None
) -> Run:
    """Return the run with what is named. For other workers a transport is chosen again, unless one is named."""
    if workers is not None and run.memberships:
        raise DistributedError(f"{folder}: is a replay, which goes on with the workers that the run had")
    if workers is not None and workers != (run.workers, run.fewest):
        run = replace(run, workers=workers.most, fewest=workers.fewest, transport=None)
    return replace(
        run,
        transport=run.transport if transport is None else transport,
        deadline=run.deadline if deadline is None else deadline,
    )


def train_alone(
    run: Run,
    *,
    listeners: Sequence[Listener] = (),
    requested: Callable[[], Action] = no_action,
    test_last: bool = True,
) -> Solver:
    """Train a run in this process, which keeps no folder, to its end or until a stop is requested.

    With `test_last` what was learned is tested at the end, also where `test_interval` doesn't divide `max_iter`.
    """
    listen = _passing_on(listeners)
    start = _start_of(run, listen)
    with open_solver(
        run.solver,
        folder=run.folder,
        compute=replace(run.compute, device=run.device(0)),
        weights=() if start else run.weights,
        tables=run.tables,
        listen=listen,
        poll_action=requested,
        require_finite=run.require_finite,
        test_last=test_last,
    ) as solver:
        if start is not None:
            state.restore(solver, start)
        solver.solve()
    return solver


def _start_of(run: Run, listen: Listener) -> Path | None:
    """Return the solver state that a run resumes from, if there is one; `listen` gets notices of damaged ones."""
    if run.snapshot is None:
        return None
    if run.snapshot == NEWEST:
        return newest(run.solver.param.snapshot_prefix, lambda text: listen(Notice(text)))
    if run.weights:
        raise SolverError("a snapshot has its own weights; give --snapshot or --weights, not both")
    return Path(run.snapshot)


def train_on_devices(
    run: Run, *, listeners: Sequence[Listener] = (), requested: Callable[[], Action] = no_action
) -> End | None:
    """Train as Caffe does with `-gpu 0,1`: each device has a batch, and their gradients are averaged in every step."""
    listen = _passing_on(listeners)
    start = _start_of(run, listen)
    several = replace(
        run,
        strategy=AllReduce(divides_batch=False),
        workers=len(run.devices),
        snapshot=None if start is None else str(start.resolve()),
        weights=run.weights if start is None else (),
        keeping=_RETENTION,
    )
    with TemporaryDirectory(prefix="netdsl-") as temporary:
        folder = Path(temporary, "run")
        begun = _begin_in_folder(_with_share_of_cores(several, HERE).settled(), folder, HERE, None)
        return train(folder, HERE, run=begun, listeners=listeners, requested=requested)


def go_on_together(folder: Path, backend: Backend, what: str, seconds: float = PATIENCE) -> None:
    """Let the workers that another program has started go on when the first one comes here, with which `what` is so."""
    if backend.started is None:
        return
    if backend.supervises:
        (folder / _ENDED).touch()
    else:
        await_all((folder / _ENDED).exists, f"{folder}: the first worker doesn't say that {what}", seconds)


def with_epochs(run: Run, epochs: float, batches: Fraction | None = None, *, tested: bool = False) -> Run:
    """Return the run that ends when all workers together have seen each item so often; `batches` is how many the items
    make.

    Tests stay where the settings say. If these don't say it, a run that is `tested` is so after each epoch.
    """
    if batches is None:
        batches = batches_of(run.solver.trained, run.tables.get(Phase.TRAIN))
    epoch, param = run.epoch_of(batches), run.solver.param
    run = replace(run, solver=run.solver.with_fields(max_iter=epoch.iterations_of(epochs)))
    if param.test_interval or not tested:
        return run
    due = Intervals(epoch.iterations, Fraction(param.snapshot))
    return replace(run, solver=run.solver.with_fields(test_interval=epoch.interval), due=due)


def with_defaults(solver: SolverSettings) -> SolverSettings:
    """Return the settings of a program's training, with what suits one where they leave it open."""
    param = solver.param
    defaults = {
        "display": max(1, param.max_iter // DISPLAYS),
        "test_initialization": False,
        "snapshot_after_train": False,
    }
    return solver.with_fields(**{name: value for name, value in defaults.items() if not param.HasField(name)})


def with_tests(solver: SolverSettings) -> SolverSettings:
    """Return the settings with a test, of one batch and at the end where they don't say how long it is and when."""
    param = solver.param
    return solver.with_fields(
        test_interval=param.test_interval or param.max_iter, test_iter=list(param.test_iter) or [1]
    )


def batches_of(model: Model, table: Table | None) -> Fraction:
    """Return how many batches all items of a table, or of the net's own data, make."""
    with closing(Feeds.open(resolve_own_state(model.net), table=table)) as feeds:
        batches = feeds.epoch_batches()
    if batches is None:
        raise DataError("these data have no known number of items, so epochs can't be counted; train for iterations")
    return batches
