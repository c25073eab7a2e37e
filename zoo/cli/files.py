"""Output of `zoo show`, `draw`, `diff`, `fmt` and `upgrade`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from caffe_proto.difference import SettingDifference, WeightDifference
from caffe_proto.summary import Summary
from zoo.cli.console import PipedConsole, table_console, table_of
from zoo.cli.output import StyledText, print_bytes, print_line
from zoo.files import FileDifference, FileShapes, FormattedFiles, Shown, UpgradedFile
from zoo.requests.files import DiffRequest, DrawRequest, FormatRequest, ShowRequest, UpgradeRequest

if TYPE_CHECKING:
    from zoo.drawing.draw import DrawnNet

_NUMBERS = ("minimum", "maximum", "mean")
_MOST_BLOBS = 20  # shapes of one layer
_WIDE = 100  # number of columns that leaves room for unwrapped names


def show_files(files: Shown, request: ShowRequest) -> None:
    """Print the contents of files, or the shapes of blobs in nets."""
    console = table_console()
    for file in files:
        if isinstance(file, FileShapes):
            _show_shapes(console, file)
        else:
            show(console, file.file, file.summary)


def _show_shapes(console: PipedConsole, net: FileShapes) -> None:
    for kind in net.stubbed:
        console.print_line(f"{net.file}: {kind} passes its input through")
    for phase, tops in net.phases.items():
        console.print_line(f"{net.file}: {phase}")
        rows = [{"layer": top.layer, "type": top.type, "top": top.top, "shape": _shape(top.shape)} for top in tops]
        console.print_table(table_of(rows, wraps=()))


def show(console: PipedConsole, file: str, summary: Summary) -> None:
    """Print one summary."""
    dialect = f", {summary.dialect}" if summary.dialect and summary.dialect != "bvlc" else ""
    named = (" ", StyledText(summary.name, bold=True)) if summary.name else ()
    console.print_line(f"{file}:", *named, f" {summary.kind} ({summary.form}{dialect})")
    for name, shape in summary.inputs:
        console.print_line(f"  input {name}  {_shape(shape)}")
    if summary.settings:
        rows = [{"setting": name, "value": value} for name, value in summary.settings]
        console.print_table(table_of(rows, wraps=("value",)))
    if summary.layers:
        console.print_table(_layers(summary, narrow=console.width < _WIDE))
        total = f", {summary.parameters:,} parameters" if summary.parameters else ""
        console.print_line(f"{len(summary.layers)} layer{'s' if len(summary.layers) > 1 else ''}{total}")
    if summary.blobs:
        console.print_table(_blobs(summary))


def _layers(summary: Summary, *, narrow: bool) -> Table:
    rows = [
        {
            "layer": line.name,
            "type": line.type,
            "bottom": line.bottoms,
            "top": line.tops,
            "settings": line.settings,
            "when": line.when,
            "blobs": _shapes(line.blobs) if summary.parameters else "",
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


def _shapes(blobs: Sequence[tuple[int, ...]]) -> list[str]:
    """Return the shapes of a layer's blobs. Layers have a few, so only a damaged file has more than are shown."""
    more = [f"... {len(blobs) - _MOST_BLOBS:,} more"] if len(blobs) > _MOST_BLOBS else []
    return [*map(_shape, blobs[:_MOST_BLOBS]), *more]


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) if shape else ""


def show_difference(file: FileDifference, request: DiffRequest) -> None:
    """Print the differences between two files."""
    console, difference = PipedConsole(soft_wrap=True), file.difference
    for name in difference.removed:
        console.print_line(StyledText(f"- {name}", "red"))
    for name in difference.added:
        console.print_line(StyledText(f"+ {name}", "green"))
    if difference.moved:
        console.print_line("~ layers are in another order")
    for setting in difference.settings:
        console.print_line(_setting_line(setting))
    for line in difference.weights:
        console.print_line(_weights_line(line))
    if not difference:
        console.print_line("no difference")


def _setting_line(setting: SettingDifference) -> str:
    before, after = setting.before or "(not set)", setting.after or "(not set)"
    return f"~ {setting.where}: {before} -> {after}"


def _weights_line(line: WeightDifference) -> str:
    if line.largest is None:
        return f"~ {line.where}: shape {list(line.before)} -> {list(line.after)}"
    if not line.largest:
        return f"  {line.where}: equal"
    return f"~ {line.where}: largest difference {line.largest:.6g}, relative {line.relative:.3g}"


def show_drawn(drawn: DrawnNet, request: DrawRequest) -> None:
    """Print what was drawn, and the file's name."""
    print_line(f"{drawn.file}: {drawn.text}")


def show_formatted(files: FormattedFiles, request: FormatRequest) -> None:
    """Print the files that changed, or the text of standard input."""
    if files.text is None:
        for file in files.changed:
            print_line(f"{'would change' if request.check_only else 'changed'} {file}")
    elif not request.check_only:
        print_bytes(files.text)


def show_upgraded(file: UpgradedFile, request: UpgradeRequest) -> None:
    """Print the changes to standard error, and the file to standard output if it isn't written."""
    text = file.text if file.output is None else b""
    for change in file.changes or ("already in the current format",):
        print_line(change, err=True)
    print_bytes(text)
