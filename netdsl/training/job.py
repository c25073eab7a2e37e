"""Starts, resumes, replays and trains runs, either in a folder or in this process alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from caffe_proto.errors import FileError, MissingExtraError
from netdsl.data.tables.table import Table
from netdsl.distributed.journal import Retention, read_memberships
from netdsl.distributed.run import Run, exists, forget
from netdsl.distributed.run_lease import RunLease
from netdsl.distributed.run_log import RoundRecord, Told, open_run_log
from netdsl.distributed.run_starts import note_start
from netdsl.distributed.run_storage import check_published, hold, is_at_address
from netdsl.distributed.run_worker import MODEL
from netdsl.distributed.strategies.all_reduce import AllReduce
from netdsl.distributed.supervisor import End
from netdsl.distributed.transports.transport import Transport
from netdsl.distributed.worker_count import WorkerCount
from netdsl.errors import DataError, DistributedError, UnfitMachinesError
from netdsl.model.model import Model
from netdsl.model.opening import open_files, store_for_workers
from netdsl.net.feed import Feeds
from netdsl.net.graph import Phase, resolve_own_state
from netdsl.solver import state
from netdsl.solver.events import Action, Event, Listener, Notice, SnapshotSaved, no_action
from netdsl.solver.length import Intervals
from netdsl.solver.open_solver import open_solver
from netdsl.solver.settings import SolverSettings, find_weights
from netdsl.solver.solver import Solver
from netdsl.training.backends import HERE, PATIENCE, Backend, await_all
from netdsl.training.publications import start_of, with_published_snapshots

DISPLAYS = 50  # of the loss, in a program's training whose settings don't state an interval
_RETENTION = Retention(every=50)  # in rounds, for a run in a temporary folder
_ENDED = "ended"  # a file in a run's folder, with which the first of several processes signals the end


@contextmanager
def holding(
    folder: Path, backend: Backend, note: Callable[[str], object] = lambda text: None
) -> Iterator[RunLease | None]:
    """Hold the lease of a run inside the context, in the process that supervises its workers. Yields it.

    All functions here that write to a run's folder do so, each for itself. Callers of several of them hold the lease in
    between. `note` gets sentences about waiting, and about a lease that is taken over.
    """
    with ExitStack() as stack:
        lease = None
        if backend.supervises:
            with backend.leading(folder):
                lease = stack.enter_context(hold(folder, note))
        yield lease


def begin(run: Run, folder: Path, backend: Backend, weights: Sequence[Model] | None = None) -> Run:
    """Begin a run in a folder and return the run that is stored there.

    The stored run contains every setting that is needed to repeat it. Snapshots go to the same folder. `weights` are
    the weights that the run names, if they are open already. A process that doesn't supervise stores nothing.
    """
    if run.snapshot is not None:
        raise DistributedError("--snapshot works with one worker only; resume a run of several workers with --resume")
    run = _with_share_of_cores(_with_snapshots_in(run, folder), backend)
    return _begin_in_folder(run.settled(), folder, backend, weights)


def begin_or_resume(run: Run, folder: Path, backend: Backend, weights: Sequence[Model] | None = None) -> Run:
    """Begin a run in a folder, or find the interrupted run that was begun there with the same settings.

    `weights` are the initial weights of a new run that names none.
    """
    if (folder / MODEL).exists():
        raise DistributedError(
            f"{folder}: the folder contains a finished run; name another folder for a new one, with --run"
        )
    if not exists(folder):
        return begin(run, folder, backend, weights)
    found, wanted = Run.load(folder), _with_share_of_cores(_with_snapshots_in(run, folder), backend)
    names = [Path(path).stem.partition("_")[2] for path in found.weights]
    if run.weights and names != [Path(path).stem.removesuffix(".caffemodel") for path in run.weights]:
        raise DistributedError(
            f"{folder}: the folder contains a run that began with other weights; name another folder with "
            "--run, or give the same weights"
        )
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
        raise DistributedError(
            f"{folder}: the folder contains a run with other settings; name another folder with --run, or give the "
            "same settings"
        )
    return found


def _with_snapshots_in(run: Run, folder: Path) -> Run:
    prefix = folder.resolve() / Path(run.solver.param.snapshot_prefix or "snapshot").name
    return replace(run, solver=run.solver.with_stored_files().with_fields(snapshot_prefix=str(prefix)))


def _with_share_of_cores(run: Run, backend: Backend) -> Run:
    cores = backend.cores(run.workers)
    loading = replace(run.compute.loading, workers=min(run.compute.loading.workers, cores))
    return replace(run, compute=replace(run.compute, loading=loading), threads=cores)


def _begin_in_folder(run: Run, folder: Path, backend: Backend, weights: Sequence[Model] | None) -> Run:
    """Check that all files of a run can be opened, and return the run that is stored in the folder.

    Its weights are stored there too, in files that all workers read.
    """
    backend.check(run)
    if not backend.supervises:
        return run
    if backend.resumes and exists(folder):
        return Run.load(folder)
    with holding(folder, backend), backend.leading(folder):
        return _run_in_new_folder(run, folder, backend, weights)


def _run_in_new_folder(run: Run, folder: Path, backend: Backend, weights: Sequence[Model] | None) -> Run:
    if weights is None:
        weights = open_files(find_weights(run.weights, run.folder), run.solver.trained)
    if backend.on_other_machines:  # this machine may not have the data; if they are missing, the workers report it
        for model in (run.solver.trained, *run.solver.tested):
            resolve_own_state(model.net)
        with suppress(DataError, FileError, MissingExtraError):
            _open_everything(run, weights)
    else:
        _open_everything(run, weights)
    if not exists(folder):  # `save` refuses to overwrite a run
        run = replace(run, weights=store_for_workers(weights, folder))
    run.save(folder)
    return run


def _open_everything(run: Run, weights: Sequence[Model]) -> None:
    """Open all files of a run, so that mistakes are found before the run's folder is created."""
    compute = replace(run.compute, device=torch.device("cpu"))
    with open_solver(run.solver, compute=compute, weights=weights, tables=run.tables):
        pass


def begin_replay(original: Path, folder: Path, backend: Backend) -> Run:
    """Begin a run in another folder in which workers join and leave after the same rounds as in an earlier run."""
    run, memberships = Run.load(original), read_memberships(original)
    if not memberships or memberships[0].after:
        raise DistributedError(
            f"{original}: the log doesn't list the workers from the first round on, so the run can't be "
            "replayed; start a new run with --solver or MODEL"
        )
    if not run.strategy.synchronous:
        raise DistributedError(
            f"{original}: workers with the strategy {run.strategy.name} meet at no fixed times, so the run "
            "can't be replayed; start a new run with --solver or MODEL"
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

    `run` is the stored run, if this process has begun it. `transport`, `workers` and `deadline` replace the run's own
    settings. The folder's log records `command`. If this process supervises the workers, it returns how the run ended,
    and `listeners` get the events and `on_round` the records of rounds. Other processes return `None` and call neither.
    """
    if not backend.supervises:
        return backend.train(folder, None, lambda told: None, no_action)
    with ExitStack() as stack:
        stack.enter_context(backend.leading(folder))
        if run is None and not is_at_address(folder):
            Run.load(folder)  # so that a folder without a run stays untouched
        listen = _passing_on(listeners)
        lease = stack.enter_context(hold(folder, lambda text: listen(Notice(text))))
        begun = run is not None
        run = run or Run.load(folder)  # the former holder of the lease can have changed it
        changed = _with_choices(run, folder, transport, workers, deadline)
        if changed != run:
            changed.save(folder, again=True)
        (folder / _ENDED).unlink(missing_ok=True)
        note_start(folder, command)
        write = stack.enter_context(open_run_log(folder))
        check_published(folder, saved=True)

        def log_and_pass_on(report: Told) -> None:
            lease.check()
            write(report)
            check_published(folder, saved=isinstance(report, RoundRecord | SnapshotSaved))
            if isinstance(report, RoundRecord):
                on_round(report)
            else:
                listen(report)

        try:
            return backend.train(folder, changed, log_and_pass_on, requested)
        except UnfitMachinesError:
            if begun:
                forget(folder)  # so that the same command can begin the run when that is mended
            raise


def _passing_on(listeners: Sequence[Listener]) -> Listener:
    """Return a listener that passes events to others."""

    def listen(event: Event) -> None:
        for listener in listeners:
            listener(event)

    return listen


def _with_choices(
    run: Run, folder: Path, transport: Transport | None, workers: WorkerCount | None, deadline: float | None
) -> Run:
    """Return the run with the settings that aren't `None`. Another number of workers resets the transport unless one is
    given."""
    if workers is not None and run.memberships:
        raise DistributedError(f"{folder}: a replay can't change the number of workers; leave out --workers")
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
    """Train a run in this process to its end, or until a stop is requested, without a folder.

    With `test_last`, the trained net is tested at the end, even if `test_interval` doesn't divide `max_iter`.
    """
    listen = _passing_on(listeners)
    with ExitStack() as stack:
        start = start_of(run, stack, listen)
        run, listen = stack.enter_context(with_published_snapshots(run, listen))
        solver = stack.enter_context(
            open_solver(
                run.solver,
                folder=run.folder,
                compute=replace(run.compute, device=run.device(0)),
                weights=() if start else run.weights,
                tables=run.tables,
                listen=listen,
                poll_action=requested,
                require_finite=run.require_finite,
                test_last=test_last,
            )
        )
        if start is not None:
            state.restore(solver, start)
        solver.solve()
    return solver


def train_on_devices(
    run: Run, *, listeners: Sequence[Listener] = (), requested: Callable[[], Action] = no_action
) -> End | None:
    """Train as Caffe does with `-gpu 0,1`: each device has its own batch, and the gradients are averaged in every
    step."""
    listen = _passing_on(listeners)
    with ExitStack() as stack:
        start = start_of(run, stack, listen)
        run, listen = stack.enter_context(with_published_snapshots(run, listen))
        several = replace(
            run,
            strategy=AllReduce(divides_batch=False),
            workers=len(run.devices),
            snapshot=None if start is None else str(start.resolve()),
            weights=run.weights if start is None else (),
            keeping=_RETENTION,
        )
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="netdsl-")), "run")
        begun = _begin_in_folder(_with_share_of_cores(several, HERE).settled(), folder, HERE, None)
        return train(folder, HERE, run=begun, listeners=[listen], requested=requested)


def go_on_together(folder: Path, backend: Backend, what: str, seconds: float = PATIENCE) -> None:
    """Let the workers of another program wait until the first worker arrives here.

    `what` completes an error's sentence about the event that they wait for.
    """
    if backend.started is None:
        return
    if backend.supervises:
        (folder / _ENDED).touch()
    else:
        await_all(
            (folder / _ENDED).exists, f"{folder}: the first worker doesn't report that {what}; see its error", seconds
        )


def with_epochs(run: Run, epochs: float, batches: Fraction | None = None, *, tested: bool = False) -> Run:
    """Return the run that ends when its workers together have seen each item `epochs` times.

    `batches` is the number of batches that all items fill. A `tested` run is tested after each epoch unless its
    settings state an interval.
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
    """Return a program's training settings with defaults for the fields that it left unset."""
    param = solver.param
    defaults = {
        "display": max(1, param.max_iter // DISPLAYS),
        "test_initialization": False,
        "snapshot_after_train": False,
    }
    return solver.with_fields(**{name: value for name, value in defaults.items() if not param.HasField(name)})


def with_tests(solver: SolverSettings) -> SolverSettings:
    """Return the settings with tests.

    The defaults are one batch for each test, and a single test at the end.
    """
    param = solver.param
    return solver.with_fields(
        test_interval=param.test_interval or param.max_iter, test_iter=list(param.test_iter) or [1]
    )


def batches_of(model: Model, table: Table | None) -> Fraction:
    """Return how many batches the items of a table, or else of the net's own data, fill."""
    with closing(Feeds.open(resolve_own_state(model.net), table=table)) as feeds:
        batches = feeds.epoch_batches()
    if batches is None:
        raise DataError(
            "the number of items in these data is unknown, so epochs can't be counted; give a number of "
            "iterations, as with --max-iter"
        )
    return batches
