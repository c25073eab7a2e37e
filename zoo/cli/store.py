"""`zoo pull`, `zoo push` and `zoo store`: models come into the store, are given to others, and are looked after."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from zoo.cli import options
from zoo.cli.output import complain, counted, print_json, progress_bar

if TYPE_CHECKING:
    from rich.progress import TaskID

    from zoo.store.pull import PulledModel
    from zoo.store.transfers import Listener, StoreNotice, TransferProgress
    from zoo.store.upkeep import ListedModel

_OFFLINE = "NETDSL_OFFLINE"
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def _parsed_size(ctx: click.Context, parameter: click.Parameter, value: str) -> int:
    match = re.fullmatch(r"(\d{1,12})\s*([KMG]?)(?:i?B)?", value, re.IGNORECASE)
    if match is None or not int(match[1]):
        raise click.BadParameter(f"'{value}' isn't like 500M or 2G, a number of bytes")
    return int(match[1]) * _UNITS[match[2].upper()]


@click.command("pull", short_help="Fetch a model into the store, where its name is a net.")
@click.argument("model", metavar="MODEL", required=False)
@click.option(
    "--as", "name", metavar="NAME", default="", help="The model's name in the store; by default its source's."
)
@click.option(
    "--weights", multiple=True, metavar="FILE|URL", help="Weights besides, for a net that has none beside it."
)
@click.option("--sha256", metavar="HASH", default="", help="What the file of a URL, or of --weights, must have.")
@click.option(
    "--lock", "lock", metavar="FILE", type=Path, help="Pin the model in a lock file: source, version, hashes."
)
@click.option("--locked", metavar="FILE", type=Path, help="Pull exactly the models that a lock file pins.")
@click.option("--offline", is_flag=True, envvar=_OFFLINE, help=f"Touch no network; {_OFFLINE}=1 says so, too.")
@click.option(
    "--max-size",
    metavar="SIZE",
    default="32G",
    show_default=True,
    callback=_parsed_size,
    help="The most that a file may have.",
)
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    default=30,
    show_default=True,
    help="How long a server may be silent before another attempt.",
)
@options.as_json
def pull_command(
    model: str | None,
    name: str,
    weights: tuple[str, ...],
    sha256: str,
    lock: Path | None,
    locked: Path | None,
    offline: bool,
    max_size: int,
    timeout: float,
    as_json: bool,
) -> None:
    """Fetch a model into the store, and prove its files by the hashes that its card states. From then on its name is a
    net for every command, and no network is touched.

    MODEL is a NAME of the catalogue; the URL of a net, of weights, of an archive, or of a README.md with a card and the
    model's files beside it; hf:OWNER/NAME or hf:OWNER/NAME@REVISION; gist:ID, as Caffe's models were published; or a
    folder, an archive or a net's file on this machine. What broke off goes on where it was.
    """
    _check_pull_options(model, locked, given=bool(name or weights or sha256 or lock))
    from zoo.names import store
    from zoo.store.pull import PullRequest, pull, pull_locked
    from zoo.store.records import add_to_lock, read_lock
    from zoo.store.sources import open_model_source
    from zoo.store.transfers import ANY_FILE, ExpectedFile, TransferSettings

    with _transfer_display() as listen:
        settings = TransferSettings(max_size, timeout, offline=offline, listen=listen)
        if model is None:
            assert locked is not None
            pulled = [pull_locked(store(), each, settings) for each in read_lock(locked).models]
        else:
            expected = ExpectedFile(sha256)
            source = open_model_source(model, ANY_FILE if weights else expected)
            if sha256 and not weights and "://" not in model:
                raise click.UsageError("--sha256 is about the file of a URL or of --weights.")
            pulled = [pull(store(), PullRequest(source, name, weights, expected), settings)]
    if lock is not None:
        add_to_lock(lock, pulled[0].record)
    _print_pulled(pulled, as_json=as_json)


def _check_pull_options(model: str | None, locked: Path | None, *, given: bool) -> None:
    if (model is None) == (locked is None):
        raise click.UsageError("Give a MODEL, or --locked FILE for the models that it pins.")
    if locked is not None and given:
        raise click.UsageError(
            "--locked says everything about its models; give --offline, --timeout or --json with it."
        )


def _print_pulled(models: list[PulledModel], *, as_json: bool) -> None:
    if as_json:
        import msgspec

        print_json(
            [
                {**msgspec.to_builtins(model.record), "folder": str(model.folder), "new": model.is_new}
                for model in models
            ]
        )
        return
    for model in models:
        how = "is stored" if model.is_new else "is stored already"
        what = f"{counted(len(model.record.files), 'file')}, {_readable_size(model.record.size)}"
        click.echo(f"{model.record.name} {how}: {what}, in {model.folder}")


@click.command("push", short_help="Give a model to others: to a folder or a hub.")
@click.argument("model", metavar="MODEL_FOLDER")
@click.argument("target", metavar="TARGET")
@click.option("--private", is_flag=True, help="A new repository of the hub is only for those whom its owner lets in.")
@options.as_json
def push_command(model: str, target: str, private: bool, as_json: bool) -> None:
    """Write a model's folder to TARGET: a new folder, or hf:OWNER/NAME, a repository of the hub. Its card gets the name
    and the SHA-256 of the weights, so that whoever pulls it gets what was pushed.

    The card is the beginning of README.md, and must have a summary and a license. The hub's token is that of
    `hf auth login` or of HF_TOKEN.
    """
    if private and not target.startswith("hf:"):
        raise click.UsageError("--private is about repositories of the hub; TARGET is hf:OWNER/NAME there.")
    from zoo.names import find_folder
    from zoo.store.errors import StoreError
    from zoo.store.push import push

    folder = find_folder(Path(model))
    if folder is None:
        raise StoreError(f"{model}: is no folder of a model, which has a net as deploy.prototxt or train_val.prototxt")
    pushed = push(folder, target, private=private, tell=complain)
    if as_json:
        print_json({"model": model, "address": pushed.address, "files": pushed.files})
    else:
        click.echo(f"wrote {len(pushed.files)} files to {pushed.address}")


@click.group("store", short_help="List, check and prune the models that were pulled.")
def store_command() -> None:
    """List, check and prune the models that `zoo pull` fetched. They are in the folder that NETDSL_HOME names, or in
    ~/.cache/netdsl.
    """


@store_command.command("list", short_help="List the models of the store.")
@options.as_json
def list_command(as_json: bool) -> None:
    """List the models of the store: their names, sizes, tasks and where they are from."""
    from zoo.names import store
    from zoo.store.upkeep import list_models

    models = list_models(store())
    if as_json:
        import msgspec

        print_json(msgspec.to_builtins(models))
    elif models:
        _print_models(models)
    for model in models:
        if model.problem and not as_json:
            complain(model.problem)


def _print_models(models: list[ListedModel]) -> None:
    from rich import box
    from rich.table import Table

    from zoo.cli.console import table_console

    table = Table("model", "size", "task", "from", box=box.SIMPLE)
    table.columns[1].justify = "right"
    for model in models:
        table.add_row(model.name, _readable_size(model.size), model.task, model.source or "?")
    table_console().print(table)


@store_command.command("check", short_help="Compare all files with their hashes.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@options.as_json
def check_command(names: tuple[str, ...], as_json: bool) -> None:
    """Compare all files of the store, or those of some models, with the hashes that they had when they came. The exit
    code is 1 if one differs.
    """
    from zoo.names import store
    from zoo.store.upkeep import added_files, check_model

    local = store()
    models = []
    with progress_bar(len(names or local.names())) as advance:
        for name in names or local.names():
            models.append(check_model(local, name))
            advance()
    bad = [model for model in models if model.problems]
    if as_json:
        print_json([{"model": model.name, "problems": model.problems} for model in models])
    else:
        for model in models:
            for problem in model.problems:
                complain(problem)
            if not model.problems:
                others = added_files(local, local.record(model.name))
                besides = f"; besides there are {', '.join(others)}" if others else ""
                click.echo(f"{model.name} is as it was stored{besides}")
    if bad:
        raise click.exceptions.Exit(1)


@store_command.command("prune", short_help="Remove what is broken, or models by their names.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Remove all models.")
@options.as_json
def prune_command(names: tuple[str, ...], everything: bool, as_json: bool) -> None:
    """Remove models whose files differ from what was stored, and what pulls left that broke off. With names, remove
    these models and nothing else.
    """
    if names and everything:
        raise click.UsageError("Give names, or --all.")
    from zoo.names import store
    from zoo.store.upkeep import prune

    removed = prune(store(), names, everything=everything)
    if as_json:
        print_json([{"path": str(each.path), "reason": each.reason} for each in removed])
        return
    for each in removed:
        click.echo(f"removed {each.path}: {each.reason}")


@store_command.command("path", short_help="Print the store's folder, or that of a model.")
@click.argument("name", metavar="[NAME]", required=False)
@options.as_json
def path_command(name: str | None, as_json: bool) -> None:
    """Print the folder of the store, or that of one of its models."""
    from zoo.names import store

    local = store()
    path = local.path if name is None else local.folder(local.record(name).name)
    if as_json:
        print_json({"model": name, "path": str(path)})
    else:
        click.echo(str(path))


def _readable_size(size: int) -> str:
    """A number of bytes for people."""
    amount, unit = float(size), "bytes"
    for bigger in ("KB", "MB", "GB"):
        if amount >= 1000:
            amount, unit = amount / 1000, bigger
    return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"


@contextmanager
def _transfer_display() -> Iterator[Listener]:
    """A listener that prints notices and, on a terminal, shows how far files are."""
    from zoo.store.transfers import StoreNotice

    if not sys.stderr.isatty():
        yield lambda event: complain(event.text) if isinstance(event, StoreNotice) else None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    text = TextColumn("{task.description}", markup=False)
    columns = (text, BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        tasks: dict[str, TaskID] = {}

        def listen(event: TransferProgress | StoreNotice) -> None:
            if isinstance(event, StoreNotice):
                progress.console.print(f"zoo: {event.text}", markup=False, highlight=False, soft_wrap=True)
                return
            if event.name not in tasks:
                tasks[event.name] = progress.add_task(event.name, total=event.total)
            progress.update(tasks[event.name], completed=event.received, total=event.total)

        yield listen
