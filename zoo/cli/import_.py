"""`zoo import`: write a model of the zoo as its files, or a net as a Python program in the DSL."""

from __future__ import annotations

from pathlib import Path

import click

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError, in_file
from caffe_proto.storage import write_pieces
from zoo.cli import options
from zoo.cli.output import complain, print_json


@click.command("import", short_help="Write a model's files, or a net as Python.")
@click.argument("model", metavar="MODEL")
@click.option("--as-dsl", is_flag=True, help="Write the net as a Python program in the layer DSL.")
@click.option(
    "-o", "--output", metavar="PATH", help="The folder, by default MODEL; or the program's file instead of printing."
)
@click.option(
    "--classes",
    metavar="FILE|SET",
    help="The classes of a detector: those of labels.txt, a label map, or images with marked objects.",
)
@options.allow_python
@options.as_json
@options.lenient
@options.dialect
def command(
    model: str,
    as_dsl: bool,
    output: str | None,
    classes: str | None,
    as_json: bool,
    lenient: bool,
    dialect: str | None,
) -> None:
    """Write the files of a model of the zoo to a folder: its nets, solver and card.

    With --classes, a detector of the catalogue is made for your own classes.

    With --as-dsl, write a net of any age as a readable Python program, in which layers that repeat are functions.
    Running the program gives exactly the same net, without its weights.
    """
    if not as_dsl:
        _write_files(model, output, classes, as_json=as_json)
        return
    if classes is not None:
        raise click.UsageError("--classes is for the files of a model; leave out --as-dsl.")
    from netdsl.dsl.source import to_python
    from netdsl.open_net import open_net

    net = open_net(model, dialect=dialect, lenient=lenient).net
    try:
        program = to_python(net)
    except CaffeError as error:
        raise type(error)(in_file(model, error)) from None
    problem = _problem(model, net)
    if output is not None:
        write_pieces(output, [program.encode()])
    if as_json:
        print_json({"file": model, "output": output, "program": program, "problem": problem})
        return
    if problem is not None:
        complain(f"warning: {problem}. The program says so too when it runs")
    if output is None:
        click.echo(program, nl=False)


def _write_files(model: str, output: str | None, classes: str | None, *, as_json: bool) -> None:
    from netdsl.data.sources.open_source import class_names_of
    from zoo.names import write_model

    files = write_model(model, Path(output or model), () if classes is None else class_names_of(classes))
    if as_json:
        print_json({"model": model, "files": [str(file) for file in files]})
        return
    for file in files:
        click.echo(f"wrote {file}")


def _problem(model: str, net: pb.NetParameter) -> str | None:
    """The reason why the net wouldn't work, if there is one."""
    from netdsl.dsl.params import check_net

    try:
        check_net(net)
    except CaffeError as error:
        return in_file(model, error)
    return None
