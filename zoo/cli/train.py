"""`zoo train`: train a net as a solver's settings say."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import click
import torch

from caffe_proto import caffe_pb2 as pb
from netdsl.data.reading import Bad, Loading
from netdsl.solver.events import Listener
from netdsl.solver.module_net import Way
from netdsl.solver.settings import read_settings
from netdsl.solver.solver import Action
from zoo.cli.devices import devices_of
from zoo.cli.progress import TrainingDisplay
from zoo.cli.signals import wishes
from zoo.models import folder_of, solver_of
from zoo.training import NEWEST, Run, train, with_data

_EFFECTS = click.Choice([action.value for action in Action])
_PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}


@click.command("train", short_help="Train a net as a solver's settings say.")
@click.argument("model", required=False)
@click.option("--solver", metavar="FILE", help="The solver's settings, which name the net; instead of MODEL.")
@click.option("--data", metavar="SOURCE", help="What Data layers read instead: digits, mnist:FOLDER, folder:PATH, ...")
@click.option("--test-data", metavar="SOURCE", help="What they read for testing, if that isn't a part of the same.")
@click.option("--weights", multiple=True, metavar="FILE", help="Weights to begin with, by layer names.")
@click.option("--snapshot", metavar="FILE", help=f"A solver state to go on from; '{NEWEST}' is the newest whole one.")
@click.option("--device", metavar="NAME", help="cpu, cuda:0, several with commas, or all GPUs.")
@click.option("--max-iter", type=click.IntRange(min=0), metavar="N", help="Train to this iteration instead.")
@click.option("--precision", type=click.Choice(list(_PRECISIONS)), default="float32", help="Of what is computed.")
@click.option("--compile", "compiled", is_flag=True, help="Let torch compile the nets first.")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Threads that decode data.")
@click.option("--skip-bad", is_flag=True, help="Skip items that can't be read, and count them.")
@click.option("--log", metavar="FILE", help="Append one JSON object for each display, test and snapshot.")
@click.option("--tensorboard", metavar="FOLDER", help="Write TensorBoard's events there.")
@click.option("--plot", metavar="FILE", help="Draw the curves into a PNG at the end.")
@click.option("--on-interrupt", type=_EFFECTS, default="stop", help="What Ctrl-C does.")
@click.option("--on-hangup", type=_EFFECTS, default="snapshot", help="What a closed terminal does.")
def command(
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
    workers: int | None,
    skip_bad: bool,
    log: str | None,
    tensorboard: str | None,
    plot: str | None,
    on_interrupt: str,
    on_hangup: str,
) -> None:
    """Train a net with Caffe's solvers: a MODEL that comes with the zoo, or one of your own by its --solver. Tests,
    display and snapshots are as the settings say. Stopped with Ctrl-C it saves a snapshot; with the same command and
    `--snapshot auto` it goes on to the same bits.
    """
    param, folder = _settings(model, solver)
    if data is not None or test_data is not None:
        param = with_data(param, folder, data, test_data)
    if max_iter is not None:
        param.max_iter = max_iter
    devices = devices_of(device, param.solver_mode)
    loading = Loading(bad=Bad.SKIP if skip_bad else Bad.STOP)
    if workers is not None:
        loading = replace(loading, workers=workers)
    way = Way(devices[0], _PRECISIONS[precision], compiled, loading)
    run = Run(param, folder, way, devices, weights, snapshot)
    with ExitStack() as stack:
        display = stack.enter_context(closing(TrainingDisplay(param.max_iter)))
        listeners: list[Listener] = [display, *_logs(stack, log, tensorboard, plot)]
        requested = stack.enter_context(wishes(Action(on_interrupt), Action(on_hangup)))
        train(run, listeners=listeners, requested=requested)


def _settings(model: str | None, solver: str | None) -> tuple[pb.SolverParameter, Path]:
    """The settings, and the folder that their files are in."""
    if (model is None) == (solver is None):
        raise click.UsageError("Give a MODEL of the zoo, or --solver FILE.")
    if solver is not None:
        return read_settings(solver), Path(solver).parent
    assert model is not None
    return solver_of(model), folder_of(model)


def _logs(stack: ExitStack, log: str | None, tensorboard: str | None, plot: str | None) -> list[Listener]:
    """Those that are asked for; each is finished when training ends, however it does."""
    found: list[Listener] = []
    if log is not None:
        from zoo.logs.lines import Lines

        found.append(stack.enter_context(closing(Lines(log))))
    if tensorboard is not None:
        from zoo.logs.board import Board

        found.append(stack.enter_context(closing(Board(tensorboard))))
    if plot is not None:
        from zoo.logs.curves import Curves

        curves = Curves()
        stack.callback(curves.save, plot)
        found.append(curves)
    return found
