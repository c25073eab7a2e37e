"""`zoo diff`: show what two files differ in."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.markup import escape

from caffe_proto.difference import Difference, SettingDifference, WeightDifference, compare
from caffe_proto.errors import FileError
from caffe_proto.files import read
from netdsl.formats import model_files
from zoo.cli import options
from zoo.cli.console import PipedConsole
from zoo.cli.output import ExitCode, print_json, progress_bar
from zoo.cli.upgrade import upgrade

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from caffe_proto.files import CaffeFile


@click.command("diff", short_help="Show what two files differ in.")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option("--as-written", is_flag=True, help="Compare old files without upgrading them.")
@options.as_json
@options.lenient
@options.dialect
def command(first: str, second: str, as_written: bool, as_json: bool, lenient: bool, dialect: str | None) -> None:
    """Show how B differs from A: in its layers, its settings, and the values of every blob. Old files are brought to
    today's form first. The exit code is 1 if anything differs.
    """

    def load(name: str) -> CaffeFile[Message]:
        path = str(model_files(Path(name)).net)
        return read(path, dialect=dialect, lenient=lenient) if as_written else upgrade(path, dialect, lenient)[0]

    with progress_bar(doing="comparing"):
        files = load(first), load(second)
        kinds = [file.message.DESCRIPTOR.name for file in files]
        if kinds[0] != kinds[1]:
            raise FileError(f"{first} is a {kinds[0]}, {second} a {kinds[1]}; only files of one kind can be compared")
        difference = compare(*files)
    if as_json:
        print_json({"equal": not difference, **asdict(difference)})
    else:
        _print_difference(PipedConsole(soft_wrap=True), difference)
    if difference:
        raise click.exceptions.Exit(ExitCode.NO)


def _print_difference(console: PipedConsole, difference: Difference) -> None:
    for name in difference.removed:
        console.print(f"[red]- {escape(name)}[/]")
    for name in difference.added:
        console.print(f"[green]+ {escape(name)}[/]")
    if difference.moved:
        console.print("~ layers are in another order")
    for setting in difference.settings:
        console.print(_setting_line(setting))
    for line in difference.weights:
        console.print(_weights_line(line))
    if not difference:
        console.print("no difference")


def _setting_line(setting: SettingDifference) -> str:
    before, after = setting.before or "(not set)", setting.after or "(not set)"
    return f"~ {escape(setting.where)}: {escape(before)} -> {escape(after)}"


def _weights_line(line: WeightDifference) -> str:
    if line.largest is None:
        return f"~ {escape(line.where)}: shape {list(line.before)} -> {list(line.after)}"
    if not line.largest:
        return f"  {escape(line.where)}: equal"
    return f"~ {escape(line.where)}: largest difference {line.largest:.6g}, relative {line.relative:.3g}"
