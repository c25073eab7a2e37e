"""Output of `zoo show`, `draw`, `diff`, `fmt` and `upgrade`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from caffe_proto.difference import SettingDifference, WeightDifference
from caffe_proto.summary import Summary
from zoo.cli.console import PipedConsole, table_console, table_of
from zoo.cli.output import print_bytes
from zoo.files import FileDifference, FileShapes, FormattedFiles, Shown, UpgradedFile
from zoo.requests.files import DiffRequest, DrawRequest, FormatRequest, ShowRequest, UpgradeRequest

if TYPE_CHECKING:
    from zoo.drawing.draw import DrawnNet

_NUMBERS = ("minimum", "maximum", "mean")
_WIDE = 100  # number of columns that leaves room for unwrapped names


def show_files(files: Shown, request: ShowRequest) -> None:
    """Print the contents of files, or the shapes of blobs in nets."""
    console = table_console()
    for file in files:
        if isinstance(file, FileShapes):
            _show_shapes(console, file)
        else:
            show(console, file.file, file.summary)


def _show_shapes(console: Console, net: FileShapes) -> None:
    for kind in net.stubbed:
        console.print(f"{escape(net.file)}: {escape(kind)} passes its input through")
    for phase, tops in net.phases.items():
        console.print(f"{escape(net.file)}: {phase}")
        rows = [{"layer": top.layer, "type": top.type, "top": top.top, "shape": _shape(top.shape)} for top in tops]
        console.print(table_of(rows, wraps=()))


def show(console: Console, file: str, summary: Summary) -> None:
    """Print one summary."""
    dialect = f", {summary.dialect}" if summary.dialect and summary.dialect != "bvlc" else ""
    named = f" [bold]{escape(summary.name)}[/]" if summary.name else ""
    console.print(f"{escape(file)}:{named} {summary.kind} ({summary.form}{dialect})")
    for name, shape in summary.inputs:
        console.print(f"  input {escape(name)}  {_shape(shape)}")
    if summary.settings:
        rows = [{"setting": name, "value": value} for name, value in summary.settings]
        console.print(table_of(rows, wraps=("value",)))
    if summary.layers:
        console.print(_layers(summary, narrow=console.width < _WIDE))
        total = f", {summary.parameters:,} parameters" if summary.parameters else ""
        console.print(f"{len(summary.layers)} layer{'s' if len(summary.layers) > 1 else ''}{total}")
    if summary.blobs:
        console.print(_blobs(summary))


def _layers(summary: Summary, *, narrow: bool) -> Table:
    rows = [
        {
            "layer": line.name,
            "type": line.type,
            "bottom": "\n".join(line.bottoms),
            "top": "\n".join(line.tops),
            "settings": line.settings,
            "when": line.when,
            "blobs": "\n".join(map(_shape, line.blobs)) if summary.parameters else "",
            "parameters": f"{line.parameters:,}" if line.parameters else "",
        }
        for line in summary.layers
    ]
    wraps = None if narrow else ("settings", "when")
    return table_of(rows, right=("parameters",), wraps=wraps, optional=("when", "blobs", "parameters"))


def _blobs(summary: Summary) -> Table:
    rows = [
        {
            "blob": line.name,
            "shape": _shape(line.shape),
            "type": line.type,
            **{name: _number(getattr(line, name)) for name in _NUMBERS},
        }
        for line in summary.blobs
    ]
    return table_of(rows, right=_NUMBERS, wraps=())


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) if shape else ""


def show_difference(file: FileDifference, request: DiffRequest) -> None:
    """Print the differences between two files."""
    console, difference = PipedConsole(soft_wrap=True), file.difference
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


def show_drawn(drawn: DrawnNet, request: DrawRequest) -> None:
    """Print what was drawn, and the file's name."""
    click.echo(f"{drawn.file}: {drawn.text}")


def show_formatted(files: FormattedFiles, request: FormatRequest) -> None:
    """Print the files that changed, or the text of standard input."""
    if files.text is None:
        for file in files.changed:
            click.echo(f"{'would change' if request.check_only else 'changed'} {file}")
    elif not request.check_only:
        print_bytes(files.text)


def show_upgraded(file: UpgradedFile, request: UpgradeRequest) -> None:
    """Print the changes to standard error, and the file to standard output if it isn't written."""
    text = file.text if file.output is None else b""
    for change in file.changes or ("already in the current format",):
        click.echo(change, err=True)
    print_bytes(text)
