"""`zoo train`: train a net as a solver's settings say."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netdsl.distributed.launchers import LAUNCHERS
from netdsl.distributed.transports import CONNECTIONS
from netdsl.distributed.transports.transport import Transport
from netdsl.solver.events import Action, Listener
from zoo.backends import TRAINING, Backend
from zoo.cli import options
from zoo.cli.output import complain, print_json
from zoo.cli.table_options import backend_of
from zoo.cli.training_display import TrainingDisplay, TrainingResult, signal_actions
from zoo.devices import training_devices
from zoo.worker_count import WorkerCount

if TYPE_CHECKING:
    from netdsl.distributed.run import Run

_EFFECTS = click.Choice([action.value for action in Action])
_STRATEGIES = ", ".join(options.STRATEGIES)
_BACKENDS = options.RegisteredName(TRAINING, LAUNCHERS)
_TRANSPORTS = options.RegisteredName((transport.value for transport in Transport), CONNECTIONS)


@click.command("train", short_help="Train a net as a solver's settings say.")
@click.argument("model", required=False)
@click.option("--solver", metavar="FILE", help="The solver's settings, which name the net; instead of MODEL.")
@click.option("--data", metavar="SOURCE", help=options.DATA_HELP)
@click.option("--test-data", metavar="SOURCE", help="Data to test on, or 'none'; by default a part of the same.")
@click.option("--weights", multiple=True, metavar="FILE", help="Weights to begin with, by layer names.")
@click.option("--snapshot", metavar="FILE", help="A solver state to go on from; 'auto' is the newest whole one.")
@click.option("--device", metavar="NAME", help="cpu, cuda:0, several with commas, or all GPUs.")
@click.option("--gpus", metavar="0,1", help="GPUs by their numbers, or all, with a worker for each.")
@click.option("--max-iter", type=click.IntRange(min=0), metavar="N", help="Train to this iteration instead.")
@click.option(
    "--precision",
    type=click.Choice(options.COMPUTE_PRECISIONS),
    help=f"What products are computed with, {options.COMPUTE_PRECISIONS[0]} by default.",
)
@click.option("--compile", "compiled", is_flag=True, help="Let torch compile the nets first.")
@click.option(
    "--caffe-gradients",
    is_flag=True,
    help="Where layers in place change what Caffe reads backward, take its gradients.",
)
@click.option(
    "--no-cuda-graph", is_flag=True, help="Let a GPU get each step's operations one by one, not as a recorded graph."
)
@click.option("--decoders", type=click.IntRange(min=1), metavar="N", help="Threads that decode data.")
@click.option(
    "--allow-nonfinite", is_flag=True, help="Go on and save where the loss or weights aren't finite, as Caffe does."
)
@click.option("--skip-bad", is_flag=True, help=options.SKIP_BAD_HELP)
@options.workers("The number of processes that train together; 2:8 is any from 2 to 8, while it lasts.")
@click.option("--strategy", metavar="NAME:SETTINGS", help=f"What they exchange, and when: {_STRATEGIES}.")
@click.option(
    "--plan",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A plan of `zoo plan`, which says all that and the batch, the passes of an iteration and the precision.",
)
@click.option("--run", "folder", metavar="FOLDER", help="The run's folder, with --workers MODEL_run.")
@click.option(
    "--backend", type=_BACKENDS, help="What starts them: this command, Spark, mpiexec, or torchrun and the like."
)
@click.option("--master", metavar="URL", help="Spark's master: spark://host:7077, yarn, ...; by default this machine.")
@click.option("--transport", type=_TRANSPORTS, help="How models are exchanged; by default as suits the devices.")
@click.option(
    "--deadline",
    type=click.FloatRange(min=1),
    metavar="SECONDS",
    help="How long a worker may be silent until it counts as lost.",
)
@click.option("--resume", metavar="FOLDER", help="Resume the run in this folder, with --workers by other workers.")
@click.option("--replay", metavar="FOLDER", help="Repeat the run in this folder, in which workers were lost or came.")
@options.allow_python
@options.net_dialect
@click.option("--log", metavar="FILE", help="Append one JSON object for each display, test and snapshot.")
@click.option("--tensorboard", metavar="FOLDER", help="Write TensorBoard's events to this folder.")
@click.option("--mlflow", metavar="URI", help="Write a run to MLflow there; 'auto' is where MLFLOW_TRACKING_URI says.")
@click.option("--plot", type=click.Path(dir_okay=False), metavar="FILE", help="Draw the curves into a PNG at the end.")
@click.option("--on-interrupt", type=_EFFECTS, default="stop", show_default=True, help="What Ctrl-C does.")
@click.option("--on-hangup", type=_EFFECTS, default="snapshot", show_default=True, help="What a closed terminal does.")
@options.as_json
def command(
    backend: str | None,
    master: str | None,
    log: str | None,
    tensorboard: str | None,
    mlflow: str | None,
    plot: str | None,
    on_interrupt: str,
    on_hangup: str,
    as_json: bool,
    **what: Any,
) -> None:
    """Train a net with Caffe's solvers: a MODEL that comes with the zoo, or one of your own by its --solver. Tests,
    displays and snapshots are as the settings say. Without --test-data, tests are on the data's own part for tests, or
    on every tenth item, which training leaves out. On Ctrl-C or SIGTERM a snapshot is saved; the same command with
    `--snapshot auto` resumes the training, with the same bits as without the stop.

    With --workers, several processes train together, each on a part of the data; `averaging:tau=50` is SparkNet's model
    averaging every 50 iterations. Their run has a folder for its settings, rounds, log, snapshots and model, and so has
    that of one worker with --run; `zoo report` tells what is in it, and `--resume` resumes it, whatever ended it. With
    `--workers 2:8` the others go on when one is lost, and one that comes joins after a round. `--replay` repeats that.
    """
    workers_backend = backend_of(backend, master)
    asked = _RunOptions(backend, **{each.name: what.pop(each.name) for each in fields(_RunOptions)[1:]})
    _check_options(asked, what)
    run, folder = _begin_or_find(asked, workers_backend, what)
    from zoo.training import holds_out

    with ExitStack() as stack:
        result, listeners = TrainingResult(), list[Listener]()
        if workers_backend.supervises:
            held_out = run is not None and holds_out(run.solver.param, what["data"], what["test_data"])
            display = stack.enter_context(closing(TrainingDisplay(held_out=held_out, quiet=as_json)))
            listeners = [display, result, *_requested_logs(stack, log, tensorboard, plot)]
            if mlflow is not None:
                listeners.append(_mlflow_writer(stack, mlflow, run, folder))
        requested = stack.enter_context(signal_actions(Action(on_interrupt), Action(on_hangup)))
        _train_run(run, folder, workers_backend, asked, listeners, requested)
    if as_json and workers_backend.supervises:
        print_json(result.plain(folder))


@dataclass(frozen=True)
class _RunOptions:
    """The options for runs that are kept in a folder."""

    backend: str | None
    workers: WorkerCount | None
    strategy: str | None
    plan: Path | None
    folder: str | None
    transport: str | None
    deadline: float | None
    resume: str | None
    replay: str | None

    def keeps(self, backend: Backend, gpus: str | None) -> bool:
        """Whether a new run is kept in a folder: one of several workers, or one that has to be compared or resumed."""
        if gpus is not None and (self.strategy or self.transport or self.backend):
            return True
        return any(part is not None for part in (self.workers, self.folder, self.plan, backend.started))


def _check_options(asked: _RunOptions, what: Mapping[str, Any]) -> None:
    """Raise a usage error if options don't go together."""
    is_named = what["model"] or what["solver"]
    if asked.resume is not None:
        if is_named or what["dialect"] or asked.strategy or asked.plan or asked.folder or asked.replay:
            raise click.UsageError("--resume goes on as the run was begun; give nothing else that says how.")
    elif asked.replay is not None:
        if is_named or what["dialect"] or asked.strategy or asked.plan or asked.workers:
            raise click.UsageError("--replay repeats a run; give only the folder of the new one, with --run.")
    else:
        options.check_model_or_solver(what["model"], what["solver"])
        if asked.plan is not None and (asked.workers or asked.strategy or what["precision"]):
            raise click.UsageError("--plan says how many workers train, by which strategy and in which precision.")


def _begin_or_find(asked: _RunOptions, backend: Backend, what: dict[str, Any]) -> tuple[Run | None, Path | None]:
    """The run that the options describe, if it is begun here, and its folder, if it is kept in one."""
    if asked.resume is not None:
        return None, Path(asked.resume)
    if asked.replay is not None:
        from zoo import distributed_run

        folder = Path(asked.folder or f"{asked.replay.rstrip('/')}_replay")
        return distributed_run.begin_replay(Path(asked.replay), folder, backend), folder
    if asked.plan is not None:
        return _begin_planned(asked, backend, what)
    if not asked.keeps(backend, what["gpus"]):
        if asked.strategy or asked.transport or asked.backend or asked.deadline:
            raise click.UsageError(
                "--strategy, --transport, --backend and --deadline are for several workers; give --workers too."
            )
        return _run_of_options(**what, backend=backend, workers=None), None
    run = _run_of_options(**what, backend=backend, workers=asked.workers.most if asked.workers else None)
    return _begin_in_folder(run, backend, asked)


def _train_run(
    run: Run | None,
    folder: Path | None,
    backend: Backend,
    asked: _RunOptions,
    listeners: Sequence[Listener],
    requested: Callable[[], Action],
) -> None:
    """Train the run in a folder, or one that isn't kept."""
    from zoo import distributed_run
    from zoo.training import train

    if folder is not None:
        distributed_run.train(
            folder,
            backend,
            run=run,
            transport=None if asked.transport is None else Transport(asked.transport),
            workers=asked.workers,
            deadline=asked.deadline,
            command=("zoo", *sys.argv[1:]),
            listeners=listeners,
            on_restart=_complain_of_restart,
            note=complain,
            requested=requested,
        )
    elif run is not None and len(run.devices) > 1:
        distributed_run.train_on_devices(run, listeners=listeners, on_restart=_complain_of_restart, requested=requested)
    elif run is not None:
        train(run, listeners=listeners, requested=requested)


def _begin_in_folder(run: Run, backend: Backend, asked: _RunOptions) -> tuple[Run, Path]:
    """Begin a run that is kept in a folder. If nothing says how many workers it has, each of its devices has one."""
    from netdsl.distributed.strategies.averaging import ModelAveraging
    from netdsl.distributed.strategies.settings import parse
    from zoo import distributed_run

    count = asked.workers or WorkerCount(backend.started or max(1, len(run.devices)))
    run_folder = Path(asked.folder or f"{run.solver.param.snapshot_prefix}_run")
    strategy = ModelAveraging() if asked.strategy is None else parse(asked.strategy)
    run = replace(run, strategy=strategy, workers=count.most, fewest=count.fewest)
    return distributed_run.begin(run, run_folder, backend), run_folder


def _begin_planned(asked: _RunOptions, backend: Backend, what: dict[str, Any]) -> tuple[Run, Path]:
    """Begin a run as a plan says, which is kept beside it."""
    from netdsl.planner.plan import read_plan
    from zoo.planned_training import begin_planned

    assert asked.plan is not None
    plan = read_plan(asked.plan)
    run = _run_of_options(**{**what, "precision": plan.precision}, backend=backend, workers=plan.workers)
    folder = Path(asked.folder or f"{run.solver.param.snapshot_prefix}_run")
    return begin_planned(run, plan, folder, backend), folder


def _complain_of_restart(attempt: int, reason: str) -> None:
    complain(f"{reason}\nall workers begin again from the last round that was saved (start {attempt + 1})")


def _run_of_options(
    model: str | None,
    solver: str | None,
    data: str | None,
    test_data: str | None,
    weights: tuple[str, ...],
    snapshot: str | None,
    device: str | None,
    gpus: str | None,
    max_iter: int | None,
    precision: str | None,
    compiled: bool,
    decoders: int | None,
    skip_bad: bool,
    allow_nonfinite: bool,
    caffe_gradients: bool,
    no_cuda_graph: bool,
    dialect: str | None,
    backend: Backend,
    workers: int | None,
) -> Run:
    """The run that the options describe, with so many workers of a backend if that is known."""
    if gpus is not None and device is not None:
        raise click.UsageError("--gpus and --device both name devices; give one of them.")
    settings, folder = options.solver_settings(model, solver, dialect)
    import torch

    from netdsl.data.batches.reading import BadItems, Loading
    from netdsl.distributed.run import Run
    from netdsl.net.compute_precision import ComputePrecision
    from netdsl.solver.trainable_net import Compute
    from zoo.training import with_sources

    if max_iter is not None:
        settings = settings.with_fields(max_iter=max_iter)
    devices = training_devices(
        device, gpus, settings.param, backend.workers_here(workers), remote=backend.remote, note=complain
    )
    loading = Loading(bad=BadItems.SKIP if skip_bad else BadItems.STOP)
    if decoders is not None:
        loading = replace(loading, workers=decoders)
    run = Run(
        settings,
        folder=folder,
        weights=weights,
        snapshot=snapshot,
        compute=Compute(
            devices[0] if devices else torch.device("cpu"),
            ComputePrecision(precision or options.COMPUTE_PRECISIONS[0]),
            compiled,
            loading,
            caffe_gradients,
            cuda_graph=not no_cuda_graph,
        ),
        devices=tuple(devices),
        require_finite=not allow_nonfinite,
    )
    return run if data is None and test_data is None else with_sources(run, data, test_data)


def _requested_logs(stack: ExitStack, log: str | None, tensorboard: str | None, plot: str | None) -> list[Listener]:
    """The requested logs; each is closed when training ends, however it does."""
    listeners: list[Listener] = []
    if log is not None:
        from netdsl.solver.events import EventLog

        listeners.append(stack.enter_context(closing(EventLog(log))))
    if tensorboard is not None:
        from zoo.logs.trackers import TensorBoardWriter

        listeners.append(stack.enter_context(closing(TensorBoardWriter(tensorboard))))
    if plot is not None:
        from zoo.logs.plots import TrainingCurves

        curves = TrainingCurves()
        stack.callback(curves.save, plot)
        listeners.append(curves)
    return listeners


def _mlflow_writer(stack: ExitStack, address: str, run: Run | None, folder: Path | None) -> Listener:
    """MLflow's log of a run, or of the one that a folder has."""
    from netdsl.distributed.run import Run
    from zoo.logs.trackers import MlflowWriter
    from zoo.report.facts import parameters_of

    if run is None:
        assert folder is not None
        run = Run.load(folder)
    name = Path(run.solver.param.snapshot_prefix).name if folder is None else folder.resolve().name
    return stack.enter_context(MlflowWriter(address, name, parameters_of(run), complain))
