"""Options of commands that take the rows of a table, here or on Spark."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from zoo.backends import TABLES, TRAINING, Backend, LocalBackend, PluginBackend, SparkBackend
from zoo.cli import options
from zoo.devices import devices_of, remote_devices_of

if TYPE_CHECKING:
    import torch

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]

_BACKENDS = click.Choice(TABLES)
INVALID = click.Choice(["error", "skip", "keep"])  # what becomes of rows and images that have no answer

columns: Decorator = click.option(
    "--column", "columns", multiple=True, metavar="BLOB=COLUMN", help="The column of a blob, if not that of its name."
)

weights: Decorator = click.option(
    "--weights", multiple=True, metavar="FILE", help="Its weights, if NET is a net without any."
)

device: Decorator = click.option("--device", metavar="NAME", help="cpu or cuda:0.")

_BACKEND_OPTIONS = (
    click.option("--backend", type=_BACKENDS, help="The place to compute: this process, or tasks of Spark."),
    click.option(
        "--master", metavar="URL", help="Spark's master: spark://host:7077, yarn, ...; by default this machine."
    ),
    click.option(
        "--workers", type=click.IntRange(min=1), metavar="K", help="Tasks at once, if Spark runs on this machine."
    ),
)
_TABLE_OPTIONS = (
    click.argument("net", metavar="NET"),
    click.argument("data", metavar="TABLE"),
    weights,
    click.option("-o", "--output", metavar="OUT", required=True, help="A Parquet file; with Spark a new folder."),
    columns,
    click.option("--batch", type=click.IntRange(min=1), metavar="N", help="Rows at once; by default as the net says."),
    click.option(
        "--invalid",
        type=INVALID,
        default="error",
        help="What becomes of rows whose values or predictions aren't finite; kept ones get NaN.",
    ),
    device,
    options.allow_python,
    options.net_dialect,
)


def backend_options(command: Command) -> Command:
    """Add the options for the backend of a command."""
    for option in reversed(_BACKEND_OPTIONS):
        command = option(command)
    return command


def table_options(command: Command) -> Command:
    """Add the options of commands that add columns to a table."""
    command = backend_options(command)
    for option in reversed(_TABLE_OPTIONS):
        command = option(command)
    return command


def backend_of(name: str | None, master: str | None) -> Backend:
    """The backend of a name; that of Spark has a master."""
    name = name or LocalBackend.name
    kind = TRAINING.get(name, partial(PluginBackend, name))
    if kind is SparkBackend:
        return SparkBackend(master)
    if master is not None:
        raise click.UsageError("--master is about Spark; give --backend spark too.")
    return kind()


def table_device_of(name: str | None, backend: LocalBackend | SparkBackend) -> torch.device | None:
    """The device that a table's rows are computed on: the one that is named, or the first GPU of this process.

    On Spark it is looked for where the tasks are, and without a name Spark's settings say which it is.
    """
    if not isinstance(backend, SparkBackend):
        return devices_of(name)[0]
    return None if name is None else remote_devices_of(name)[0]


def table_backend_of(name: str | None, master: str | None, workers: int | None) -> LocalBackend | SparkBackend:
    """The backend for the rows of a table, by a command's options."""
    if name == SparkBackend.name:
        if master is not None and workers is not None:
            raise click.UsageError("--workers is for Spark on this machine; the one at --master knows its tasks.")
        return SparkBackend(master, workers)
    if master is not None or workers is not None:
        raise click.UsageError("--master and --workers are about Spark; give --backend spark too.")
    return LocalBackend()


def columns_of(pairs: tuple[str, ...]) -> dict[str, str]:
    """Columns by their blobs."""
    columns = {}
    for pair in pairs:
        blob, _, column = pair.partition("=")
        if not (blob and column):
            raise click.BadParameter(f"'{pair}' isn't like data=pixels, a blob and its column", param_hint="--column")
        columns[blob] = column
    return columns
