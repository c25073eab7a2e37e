"""`zoo finetune`: fine-tune a model to the classes of other data."""

from __future__ import annotations

import shlex
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import few
from netdsl.distributed.launchers import LAUNCHERS
from netdsl.solver.events import Action, Listener, SnapshotSaved
from zoo.backends import TRAINING
from zoo.cli import options
from zoo.cli.output import complain, print_json, progress_bar
from zoo.cli.table_options import backend_of
from zoo.cli.training_display import TrainingDisplay, signal_actions
from zoo.devices import training_devices
from zoo.worker_count import WorkerCount

if TYPE_CHECKING:
    from zoo.finetuning.fine_tune import FineTuning
    from zoo.finetuning.request import FineTuneRequest
    from zoo.finetuning.result import FineTuned


@click.command("finetune", short_help="Fine-tune a model to the classes of your data.")
@click.argument("model", metavar="[MODEL]", required=False)
@click.option(
    "--data", metavar="SOURCE", help="A folder with a folder of images for each class, lmdb:PATH, parquet:PATH, ..."
)
@click.option("--test-data", metavar="SOURCE", help="Data to test on, instead of a share of the same.")
@click.option(
    "--held-out", type=click.FloatRange(0.01, 0.9), default=0.1, show_default=True, metavar="SHARE",
    help="The share of each class to test on.",
)  # fmt: skip
@click.option("--weights", multiple=True, metavar="FILE", help="The weights to begin with, if not the model's own.")
@click.option(
    "--replace", "replaced", multiple=True, metavar="LAYER[:N]",
    help="The layer to make anew with N outputs; by default what predicts, and as many as there are classes.",
)  # fmt: skip
@click.option("--freeze", "frozen", multiple=True, metavar="PATTERN", help="Layers that stay as they are, as 'conv*'.")
@click.option("--epochs", type=click.FloatRange(min=0, min_open=True), metavar="N", help="How often to see all items.")
@click.option("--batch", type=click.IntRange(min=1), metavar="N", help="Items of a step, for each worker.")
@click.option("--base-lr", type=click.FloatRange(min=0, min_open=True), metavar="R", help="The rate to begin with.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, metavar="N", help="Of all chance.")
@click.option(
    "--patience", type=click.IntRange(min=1), default=5, show_default=True, metavar="N",
    help="End after so many tests without progress.",
)  # fmt: skip
@click.option("--device", metavar="NAME", help="cpu, cuda:0, several with commas, or all GPUs.")
@options.workers("The number of processes that train together.")
@click.option(
    "--strategy", metavar="NAME:SETTINGS", help=f"What they exchange, and when: {', '.join(options.STRATEGIES)}."
)
@click.option(
    "--backend", type=options.RegisteredName(TRAINING, LAUNCHERS), help="What starts them, as for `zoo train`."
)
@click.option("--master", metavar="URL", help="Spark's master.")
@click.option("-o", "--output", metavar="FOLDER", help="The new model's folder; by default MODEL_tuned.")
@click.option("--resume", metavar="FOLDER", help="Go on with the fine-tuning in this folder, whatever ended it.")
@options.allow_python
@options.net_dialect
@options.as_json
def command(
    model: str | None,
    data: str | None,
    backend: str | None,
    master: str | None,
    device: str | None,
    resume: str | None,
    as_json: bool,
    **what: Any,
) -> None:
    """Fine-tune a MODEL, by its name, folder or file, to tell the classes of your data apart. The layer that predicts
    is found and made anew for the classes; the others begin with the model's weights. A share of each class is held
    out, and tested on after each epoch; the best model of all tests is kept.

    The result is a folder: nets, weights and classes for Caffe, the ONNX form, a card with the measured accuracy, and
    the run. It can be named wherever a net is taken.
    """
    if resume is None and not (model and data):
        raise click.UsageError("Give a MODEL and --data, or --resume FOLDER.")
    if resume is not None and (model or data):
        raise click.UsageError("--resume goes on as it was begun; give nothing else that says how.")
    from zoo.finetuning.fine_tune import begin, load, train

    workers_backend = backend_of(backend, master)
    if resume is not None:
        tuning, run = load(Path(resume))
    else:
        request = _tuning_request(str(model), str(data), **what)
        count = request.workers.most if request.workers else None
        local_count, settings = workers_backend.workers_here(count), pb.SolverParameter()
        devices = training_devices(device, None, settings, local_count, remote=workers_backend.remote, note=complain)
        with progress_bar(0) as advance:
            tuning, run = begin(request, workers_backend, devices, progress=advance)
        if not as_json:
            _print_tuning(tuning)
    with ExitStack() as stack:
        requested = stack.enter_context(signal_actions(Action.STOP, Action.SNAPSHOT))
        tuned = train(
            tuning,
            run,
            workers_backend,
            listeners=[] if as_json else [_but_snapshots(stack.enter_context(closing(TrainingDisplay())))],
            on_restart=lambda number, reason: complain(f"{reason}\nall workers begin again (start {number + 1})"),
            note=complain,
            requested=requested,
            command=("zoo", *sys.argv[1:]),
        )
    if tuned is not None:
        _print_tuned(tuned, as_json)
    elif workers_backend.supervises:
        complain(f"stopped; `zoo finetune --resume {shlex.quote(str(tuning.request.output))}` goes on")


def _print_tuning(tuning: FineTuning) -> None:
    """Print what was found in the model and the data, and what follows from it."""
    data = tuning.data
    heads = ", ".join(f"'{old}' becomes '{new}'" for old, new in tuning.heads.items())
    click.echo(f"{len(data.classes)} classes: {few(data.classes, 10)}")
    click.echo(f"{data.train_count:,} items to train on; {data.test_count:,} are held out to test on")
    click.echo(f"images are {tuning.preparation}")
    for note in tuning.notes:
        click.echo(note)
    click.echo(f"{heads}, which learns anew; other layers begin with the model's weights")
    if tuning.frozen:
        click.echo(f"{len(tuning.frozen)} layers keep them: {', '.join(tuning.frozen)}")


def _but_snapshots(listener: Listener) -> Listener:
    """Don't tell of snapshots, most of which are removed when a better one comes."""
    return lambda event: None if isinstance(event, SnapshotSaved) else listener(event)


def _tuning_request(
    model: str,
    data: str,
    test_data: str | None,
    held_out: float,
    weights: tuple[str, ...],
    replaced: tuple[str, ...],
    frozen: tuple[str, ...],
    epochs: float | None,
    batch: int | None,
    base_lr: float | None,
    seed: int,
    patience: int,
    workers: WorkerCount | None,
    strategy: str | None,
    output: str | None,
    dialect: str | None,
) -> FineTuneRequest:
    from netdsl.distributed.strategies.settings import parse
    from zoo.finetuning.request import EPOCHS, FineTuneRequest, Recipe

    return FineTuneRequest(
        model,
        data,
        Path(output or f"{Path(model).resolve().name.partition('.')[0]}_tuned"),
        tests=test_data,
        weights=weights,
        replaced=dict(map(_replaced_layer, replaced)),
        frozen=frozen,
        share=held_out,
        recipe=Recipe(EPOCHS if epochs is None else epochs, batch, base_lr, seed),
        workers=workers,
        strategy=None if strategy is None else parse(strategy),
        patience=patience,
        command=shlex.join(["zoo", *sys.argv[1:]]),
        dialect=dialect,
    )


def _replaced_layer(text: str) -> tuple[str, int | None]:
    """A layer, and its outputs if they are said."""
    name, colon, number = text.rpartition(":")
    if colon and number.isdecimal() and int(number):
        return name, int(number)
    return text, None


def _print_tuned(tuned: FineTuned, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "folder": str(tuned.folder),
                "files": [str(path) for path in tuned.files],
                "accuracy": tuned.accuracy,
                "differences": tuned.differences,
            }
        )
        return
    for notice in tuned.notices:
        complain(notice)
    for name, difference in tuned.differences.items():
        click.echo(f"{name} computes the same: outputs differ by {difference:.1e} of their spread")
    click.echo(f"accuracy {tuned.accuracy:.2%} on items that were held out; the model is in {tuned.folder}")
    click.echo(
        f"next: zoo predict {shlex.quote(str(tuned.folder))} IMAGE, or zoo serve {shlex.quote(str(tuned.folder))}"
    )
