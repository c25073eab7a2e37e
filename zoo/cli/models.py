"""`zoo list`, `zoo card` and `zoo import`: the models of the zoo, what each is for, and their files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError, in_file
from caffe_proto.storage import write_pieces
from zoo.cards import Card, ImageInput
from zoo.cli import options
from zoo.cli.output import complain, print_json


@click.command("list", short_help="List the models of the zoo.")
@options.as_json
def list_command(as_json: bool) -> None:
    """List the models that can be named wherever a net is taken: their tasks, inputs and parameters."""
    from zoo.names import all_cards

    cards = all_cards()
    if as_json:
        import msgspec

        print_json([{"model": name, **msgspec.to_builtins(card)} for name, card in cards.items()])
        return
    from rich import box
    from rich.table import Table

    from zoo.cli.console import table_console

    table = Table("model", "task", "input", "parameters", "", box=box.SIMPLE)
    table.columns[3].justify = "right"
    for name, card in cards.items():
        size = "x".join(map(str, card.input.size)) if card.input else ""
        task = card.task.value if card.task else ""
        parameters = f"{card.parameters:,}" if card.parameters is not None else ""
        table.add_row(name, task, size, parameters, card.summary)
    table_console().print(table)


@click.command("card", short_help="Show what a model is for, takes and gives.")
@click.argument("model", metavar="MODEL")
@options.as_json
def card_command(model: str, as_json: bool) -> None:
    """Show the card of a MODEL, by its name or folder: its task, input, classes, published results, licence, and where
    its weights can be had.
    """
    from zoo.names import card_of

    card = card_of(Path(model))
    if as_json:
        import msgspec

        print_json(msgspec.to_builtins(card))
        return
    for line in _card_lines(card):
        click.echo(line)


def _card_lines(card: Card) -> Iterator[str]:
    yield f"{card.name}: {card.summary}" if card.summary else card.name
    facts = {
        "task": card.task.value if card.task else "",
        "input": _input_text(card.input) if card.input else "",
        "classes": card.labels,
        "parameters": f"{card.parameters:,}" if card.parameters is not None else "",
        "weights": card.caffemodel_url,
        "SHA-1": card.sha1,
        "SHA-256": card.sha256,
        "licence": card.license,
        "cite": " ".join(card.citation.split()),
    }
    for result in card.results:
        yield f"  {result.metric}: {result.value} on {result.data} ({result.source})"
    for name, value in facts.items():
        if value:
            yield f"  {name}: {value}"
    if card.text:
        yield f"\n{card.text}"


def _input_text(image: ImageInput) -> str:
    """How an image becomes the input, in the order in which it is done."""
    resized = f"resized to {_size_text(image.resize)}, " if image.resize else ""
    mean = image.mean if isinstance(image.mean, str) else ",".join(f"{value:g}" for value in image.mean)
    subtracted = f", minus {mean}" if mean else ""
    scaled = f", times {image.scale:g}" if image.scale != 1 else ""
    return f"{resized}{_size_text(image.size)} {image.channels.value}{subtracted}{scaled}"


def _size_text(size: tuple[int, int]) -> str:
    return f"{size[0]}x{size[1]}"


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
def import_command(
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
        _write_model_files(model, output, classes, as_json=as_json)
        return
    if classes is not None:
        raise click.UsageError("--classes is for the files of a model; leave out --as-dsl.")
    from netdsl.dsl.source import to_python
    from netdsl.model.model import open_net

    net = open_net(model, dialect=dialect, lenient=lenient).net
    try:
        program = to_python(net)
    except CaffeError as error:
        raise type(error)(in_file(model, error)) from None
    problem = _problem_of_net(model, net)
    if output is not None:
        write_pieces(output, [program.encode()])
    if as_json:
        print_json({"file": model, "output": output, "program": program, "problem": problem})
        return
    if problem is not None:
        complain(f"warning: {problem}. The program says so too when it runs")
    if output is None:
        click.echo(program, nl=False)


def _write_model_files(model: str, output: str | None, classes: str | None, *, as_json: bool) -> None:
    from netdsl.data.sources.open_source import class_names_of
    from zoo.catalogue.writing import write_model

    files = write_model(model, Path(output or model), () if classes is None else class_names_of(classes))
    if as_json:
        print_json({"model": model, "files": [str(file) for file in files]})
        return
    for file in files:
        click.echo(f"wrote {file}")


def _problem_of_net(model: str, net: pb.NetParameter) -> str | None:
    """The reason why the net wouldn't work, if there is one."""
    from netdsl.dsl.params import check_net

    try:
        check_net(net)
    except CaffeError as error:
        return in_file(model, error)
    return None
