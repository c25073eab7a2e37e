"""`zoo show`: show what files hold, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from shlex import quote

import click
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from caffe_proto.errors import FileError
from caffe_proto.files import read
from caffe_proto.summary import Summary, summarise
from netdsl.formats import model_files
from zoo.cli import options, shapes
from zoo.cli.console import table_console
from zoo.cli.output import print_json, progress_bar
from zoo.cli.shapes import Shape, Shapes

_WIDE = 100  # columns of a terminal with room for names that aren't folded


@click.command("show", short_help="Show what files hold.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--shapes", "with_shapes", is_flag=True, help="Show the shapes of a net's blobs instead.")
@shapes.assume
@shapes.stages
@shapes.stub_unknown
@options.allow_python
@options.as_json
@options.lenient
@options.dialect
def command(
    files: tuple[str, ...],
    with_shapes: bool,
    assume: Mapping[str, Shape],
    stages: tuple[str, ...],
    stub_unknown: bool,
    as_json: bool,
    lenient: bool,
    dialect: str | None,
) -> None:
    """Show what files hold: the layers of a net with their settings, shapes and parameters; the blobs of weights, of a
    solver state or of a mean; the settings of a solver.

    With --shapes, show the shapes of a net's blobs, in each phase that it is for. The options about nets need it.
    """
    if not with_shapes and (assume or stages or stub_unknown):
        raise click.UsageError("--assume, --stage and --stub-unknown go with --shapes")
    paths = {file: model_files(Path(file)).net for file in files}
    _refuse_folders(paths)
    with progress_bar(len(paths), "reading") as advance:
        contents = {}
        for file, path in paths.items():
            contents[file] = read(path, dialect=dialect, lenient=lenient)
            advance()
    if with_shapes:
        with progress_bar(doing="inferring shapes"):
            shapes_by_file = {
                file: shapes.infer(content, assume, stages, stub=stub_unknown) for file, content in contents.items()
            }
        _show_shapes(shapes_by_file, as_json=as_json)
        shapes.complain_of_unused(assume, {name for net in shapes_by_file.values() for name in net.assumed})
        return
    with progress_bar(doing="summarising"):
        summaries = {file: summarise(content) for file, content in contents.items()}
    if as_json:
        objects = [{"file": file, **asdict(summary)} for file, summary in summaries.items()]
        print_json(objects if len(objects) > 1 else objects[0])
        return
    console = table_console()
    for file, summary in summaries.items():
        show(console, file, summary)


def _refuse_folders(paths: Mapping[str, Path]) -> None:
    """Point those who name a folder, which may be a database, at the command that shows data."""
    for file, path in paths.items():
        if path.is_dir():
            raise FileError(f"{file}: is a directory; name a file in it, or show its data: zoo data show {quote(file)}")


def _show_shapes(shapes_by_file: Mapping[str, Shapes], *, as_json: bool) -> None:
    if as_json:
        objects = [{"file": file, **asdict(net)} for file, net in shapes_by_file.items()]
        print_json(objects if len(objects) > 1 else objects[0])
        return
    console = table_console()
    for file, net in shapes_by_file.items():
        for name, shape in net.assumed.items():
            console.print(f"{escape(file)}: {escape(name)} is taken as {_shape(shape)}")
        for kind in net.stubbed:
            console.print(f"{escape(file)}: {escape(kind)} hands on what it gets")
        for phase, tops in net.phases.items():
            console.print(f"{escape(file)}: {phase}")
            table = _table("layer", "type", "top", "shape")
            for top in tops:
                table.add_row(escape(top.layer), escape(top.type), escape(top.top), _shape(top.shape))
            console.print(table)


def show(console: Console, file: str, summary: Summary) -> None:
    """Print one summary."""
    dialect = f", {summary.dialect}" if summary.dialect and summary.dialect != "bvlc" else ""
    named = f" [bold]{escape(summary.name)}[/]" if summary.name else ""
    console.print(f"{escape(file)}:{named} {summary.kind} ({summary.form}{dialect})")
    for name, shape in summary.inputs:
        console.print(f"  input {escape(name)}  {_shape(shape)}")
    if summary.settings:
        console.print(_settings(summary))
    if summary.layers:
        console.print(_layers(summary, narrow=console.width < _WIDE))
        total = f", {summary.parameters:,} parameters" if summary.parameters else ""
        console.print(f"{len(summary.layers)} layer{'s' if len(summary.layers) > 1 else ''}{total}")
    if summary.blobs:
        console.print(_blobs(summary))


def _table(*columns: str, right: tuple[str, ...] = (), narrow: bool = False) -> Table:
    """A table whose names stay on one line, unless there is too little room for the rest."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        wraps = narrow or column in ("settings", "value", "when")
        table.add_column(column, justify="right" if column in right else "left", overflow="fold", no_wrap=not wraps)
    return table


def _layers(summary: Summary, *, narrow: bool) -> Table:
    has_weights = summary.parameters > 0
    conditional = any(line.when for line in summary.layers)
    heads = ["layer", "type", "bottom", "top", "settings"]
    heads += ["when"] if conditional else []
    heads += ["blobs", "parameters"] if has_weights else []
    table = _table(*heads, right=("parameters",), narrow=narrow)
    for line in summary.layers:
        row = [line.name, line.type, "\n".join(line.bottoms), "\n".join(line.tops), line.settings]
        row += [line.when] if conditional else []
        row += (
            ["\n".join(map(_shape, line.blobs)), f"{line.parameters:,}" if line.parameters else ""]
            if has_weights
            else []
        )
        table.add_row(*map(escape, row))
    return table


def _blobs(summary: Summary) -> Table:
    table = _table("blob", "shape", "type", "minimum", "maximum", "mean", right=("minimum", "maximum", "mean"))
    for line in summary.blobs:
        numbers = (f"{number:.6g}" if number is not None else "" for number in (line.minimum, line.maximum, line.mean))
        table.add_row(line.name, _shape(line.shape), line.type, *numbers)
    return table


def _settings(summary: Summary) -> Table:
    table = _table("setting", "value")
    for name, value in summary.settings:
        table.add_row(name, escape(value))
    return table


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) if shape else ""
