"""`zoo train`: train a net as a solver's settings say."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import torch

from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.reading import BadItems, Loading
from netdsl.distributed.run import NEWEST, Run
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.distributed.strategies.settings import STRATEGIES, parse
from netdsl.distributed.transports.transport import Transport
from netdsl.solver.events import Listener
from netdsl.solver.module_net import Compute
from netdsl.solver.settings import read_settings
from netdsl.solver.solver import Action
from zoo import distributed_run
from zoo.backends import TRAINING, Backend, ExternalBackend
from zoo.cli.devices import devices_of
from zoo.cli.output import complain
from zoo.cli.places import backend_of
from zoo.cli.signals import signal_actions
from zoo.cli.training_display import TrainingDisplay
from zoo.models import folder_of, solver_of
from zoo.training import fed, train

_EFFECTS = click.Choice([action.value for action in Action])
_STRATEGIES = ", ".join(STRATEGIES)
_BACKENDS = click.Choice(list(TRAINING))
_TRANSPORTS = click.Choice([transport.value for transport in Transport])
_PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}


@click.command("train", short_help="Train a net as a solver's settings say.")
@click.argument("model", required=False)
@click.option("--solver", metavar="FILE", help="The solver's settings, which name the net; instead of MODEL.")
@click.option("--data", metavar="SOURCE", help="What the net reads instead: digits, mnist:FOLDER, parquet:PATH, ...")
@click.option("--test-data", metavar="SOURCE", help="What it reads for testing, if that isn't a part of the same.")
@click.option("--weights", multiple=True, metavar="FILE", help="Weights to begin with, by layer names.")
@click.option("--snapshot", metavar="FILE", help=f"A solver state to go on from; '{NEWEST}' is the newest whole one.")
@click.option("--device", metavar="NAME", help="cpu, cuda:0, several with commas, or all GPUs.")
@click.option("--max-iter", type=click.IntRange(min=0), metavar="N", help="Train to this iteration instead.")
@click.option("--precision", type=click.Choice(list(_PRECISIONS)), default="float32", help="Of what is computed.")
@click.option("--compile", "compiled", is_flag=True, help="Let torch compile the nets first.")
@click.option("--decoders", type=click.IntRange(min=1), metavar="N", help="Threads that decode data.")
@click.option("--skip-bad", is_flag=True, help="Skip items that can't be read, and count them.")
@click.option("--workers", type=click.IntRange(min=1), metavar="K", help="Train with so many processes together.")
@click.option("--strategy", metavar="NAME:SETTINGS", help=f"What they exchange, and when: {_STRATEGIES}.")
@click.option("--run", "folder", metavar="FOLDER", help="Where their run is kept; MODEL_run if unnamed.")
@click.option("--backend", type=_BACKENDS, help="What starts them: this command, Spark, or torchrun and the like.")
@click.option("--master", metavar="URL", help="Where Spark is: spark://host:7077, yarn, ...; if not given, here.")
@click.option("--transport", type=_TRANSPORTS, help="How models move; if unnamed, what suits the devices.")
@click.option("--resume", metavar="FOLDER", help="Go on with the run of several workers that is kept there.")
@click.option("--log", metavar="FILE", help="Append one JSON object for each display, test and snapshot.")
@click.option("--tensorboard", metavar="FOLDER", help="Write TensorBoard's events there.")
@click.option("--plot", metavar="FILE", help="Draw the curves into a PNG at the end.")
@click.option("--on-interrupt", type=_EFFECTS, default="stop", help="What Ctrl-C does.")
@click.option("--on-hangup", type=_EFFECTS, default="snapshot", help="What a closed terminal does.")
def command(
    workers: int | None,
    strategy: str | None,
    folder: str | None,
    backend: str | None,
    master: str | None,
    transport: str | None,
    resume: str | None,
    log: str | None,
    tensorboard: str | None,
    plot: str | None,
    on_interrupt: str,
    on_hangup: str,
    **what: Any,
) -> None:
    """Train a net with Caffe's solvers: a MODEL that comes with the zoo, or one of your own by its --solver. Tests,
    display and snapshots are as the settings say. Stopped with Ctrl-C or SIGTERM it saves a snapshot; with the same
    command and `--snapshot auto` it goes on to the same bits.

    With --workers, processes that have a part of the data each train together; `averaging:tau=50` is SparkNet's model
    averaging every 50 iterations. Whatever ended such a run, `--resume` goes on with it.
    """
    place = backend_of(backend, master)
    if resume is not None:
        if what["model"] or what["solver"] or workers or strategy or folder:
            raise click.UsageError("--resume goes on as the run was begun; give nothing else that says how.")
        run: Run | None = None
        kept: Path | None = Path(resume)
    else:
        run = _run(**what)
        several = workers is not None or isinstance(place, ExternalBackend)
        if not several and (strategy or folder or transport or backend):
            raise click.UsageError(
                "--strategy, --run, --transport and --backend are for several workers; give --workers too."
            )
        kept = _begin(run, place, workers, strategy, folder) if several else None
    with ExitStack() as stack:
        listeners = _listeners(stack, log, tensorboard, plot) if place.supervises else []
        requested = stack.enter_context(signal_actions(Action(on_interrupt), Action(on_hangup)))
        if kept is not None:
            distributed_run.train(
                kept,
                place,
                transport=None if transport is None else Transport(transport),
                listeners=listeners,
                on_restart=_complain,
                note=complain,
                requested=requested,
            )
        elif run is not None and len(run.devices) > 1:
            distributed_run.train_on_devices(run, listeners=listeners, on_restart=_complain, requested=requested)
        elif run is not None:
            train(run, listeners=listeners, requested=requested)


def _begin(run: Run, place: Backend, workers: int | None, strategy: str | None, folder: str | None) -> Path:
    """Begin a run of several workers; returns its folder."""
    count = place.worker.size if workers is None and isinstance(place, ExternalBackend) else workers
    assert count is not None
    kept = Path(folder or f"{run.solver.snapshot_prefix}_run")
    several = replace(
        run,
        workers=count,
        strategy=ModelAveraging() if strategy is None else parse(strategy),
    )
    distributed_run.begin(several, kept, place)
    return kept


def _complain(attempt: int, reason: str) -> None:
    complain(f"{reason}\nall workers begin again from the last round that was saved (start {attempt + 1})")


def _run(
    model: str | None,
    solver: str | None,
    data: str | None,
    test_data: str | None,
    weights: tuple[str, ...],
    snapshot: str | None,
    device: str | None,
    max_iter: int | None,
    precision: str,
    compiled: bool,
    decoders: int | None,
    skip_bad: bool,
) -> Run:
    """What is to be trained, and how."""
    param, folder = _settings(model, solver)
    if max_iter is not None:
        param.max_iter = max_iter
    devices = devices_of(device, param.solver_mode)
    loading = Loading(bad=BadItems.SKIP if skip_bad else BadItems.STOP)
    if decoders is not None:
        loading = replace(loading, workers=decoders)
    run = Run(
        param,
        folder=folder,
        weights=weights,
        snapshot=snapshot,
        compute=Compute(devices[0], _PRECISIONS[precision], compiled, loading),
        devices=tuple(devices),
    )
    return run if data is None and test_data is None else fed(run, data, test_data)


def _settings(model: str | None, solver: str | None) -> tuple[pb.SolverParameter, Path]:
    """The settings, and the folder that their files are in."""
    if (model is None) == (solver is None):
        raise click.UsageError("Give a MODEL of the zoo, or --solver FILE.")
    if solver is not None:
        return read_settings(solver), Path(solver).parent
    assert model is not None
    return solver_of(model), folder_of(model)


def _listeners(stack: ExitStack, log: str | None, tensorboard: str | None, plot: str | None) -> list[Listener]:
    """The display and the logs that are asked for; each is finished when training ends, however it does."""
    found: list[Listener] = [stack.enter_context(closing(TrainingDisplay()))]
    if log is not None:
        from netdsl.solver.event_log import EventLog

        found.append(stack.enter_context(closing(EventLog(log))))
    if tensorboard is not None:
        from zoo.logs.tensorboard import TensorBoardWriter

        found.append(stack.enter_context(closing(TensorBoardWriter(tensorboard))))
    if plot is not None:
        from zoo.logs.curves import TrainingCurves

        curves = TrainingCurves()
        stack.callback(curves.save, plot)
        found.append(curves)
    return found
