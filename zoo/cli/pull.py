"""`zoo pull`: fetch a model into the store, where its name is a net."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from zoo.cli import options
from zoo.cli.output import print_json
from zoo.cli.transfer_display import transfer_display

if TYPE_CHECKING:
    from zoo.store.pull import PulledModel

OFFLINE = "NETDSL_OFFLINE"

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def _bytes(ctx: click.Context, parameter: click.Parameter, value: str) -> int:
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
@click.option("--offline", is_flag=True, envvar=OFFLINE, help=f"Touch no network; {OFFLINE}=1 says so, too.")
@click.option(
    "--max-size",
    metavar="SIZE",
    default="32G",
    show_default=True,
    callback=_bytes,
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
def command(
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
    _check_options(model, locked, given=bool(name or weights or sha256 or lock))
    from zoo.names import store
    from zoo.store.pull import PullRequest, pull, pull_locked
    from zoo.store.records import add_to_lock, read_lock
    from zoo.store.sources import open_model_source
    from zoo.store.transfers import ANY_FILE, ExpectedFile, TransferSettings

    with transfer_display() as listen:
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
    _print(pulled, as_json=as_json)


def _check_options(model: str | None, locked: Path | None, *, given: bool) -> None:
    if (model is None) == (locked is None):
        raise click.UsageError("Give a MODEL, or --locked FILE for the models that it pins.")
    if locked is not None and given:
        raise click.UsageError(
            "--locked says everything about its models; give --offline, --timeout or --json with it."
        )


def _print(models: list[PulledModel], *, as_json: bool) -> None:
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
        count = len(model.record.files)
        how = "is stored" if model.is_new else "is stored already"
        what = f"{count} file{'' if count == 1 else 's'}, {readable_size(model.record.size)}"
        click.echo(f"{model.record.name} {how}: {what}, in {model.folder}")


def readable_size(size: int) -> str:
    """A number of bytes for people."""
    amount, unit = float(size), "bytes"
    for bigger in ("KB", "MB", "GB"):
        if amount >= 1000:
            amount, unit = amount / 1000, bigger
    return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
