"""`zoo import`: write a net as a Python program in the DSL."""

from __future__ import annotations

import click

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError, in_file
from caffe_proto.storage import write_pieces
from zoo.cli import options
from zoo.cli.output import complain, print_json


@click.command("import", short_help="Write a net as a Python program.")
@click.argument("model", metavar="MODEL")
@click.option("--as-dsl", is_flag=True, help="Write the net as a Python program in the layer DSL.")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of printing.")
@options.allow_python
@options.as_json
@options.lenient
@options.dialect
def command(model: str, as_dsl: bool, output: str | None, as_json: bool, lenient: bool, dialect: str | None) -> None:
    """Write a net of any age as a readable Python program, in which layers that repeat are functions. Running the
    program gives exactly the same net, without its weights.
    """
    if not as_dsl:
        raise click.UsageError("say what to write; --as-dsl is the only choice")
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


def _problem(model: str, net: pb.NetParameter) -> str | None:
    """The reason why the net wouldn't work, if there is one."""
    from netdsl.dsl.params import check_net

    try:
        check_net(net)
    except CaffeError as error:
        return in_file(model, error)
    return None
