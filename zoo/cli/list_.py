"""`zoo list`: the models of the zoo."""

from __future__ import annotations

import click

from zoo import catalogue
from zoo.cli import options
from zoo.cli.console import table_console
from zoo.cli.output import print_json


@click.command("list", short_help="List the models of the zoo.")
@options.as_json
def command(as_json: bool) -> None:
    """List the models that can be named wherever a net is taken: their tasks, inputs and parameters."""
    cards = {name: catalogue.card_of(name) for name in catalogue.names()}
    if as_json:
        import msgspec

        print_json([{"model": name, **msgspec.to_builtins(card)} for name, card in cards.items()])
        return
    from rich import box
    from rich.table import Table

    table = Table("model", "task", "input", "parameters", "", box=box.SIMPLE)
    table.columns[3].justify = "right"
    for name, card in cards.items():
        size = "x".join(map(str, card.input.size)) if card.input else ""
        task = card.task.value if card.task else ""
        parameters = f"{card.parameters:,}" if card.parameters is not None else ""
        table.add_row(name, task, size, parameters, card.summary)
    table_console().print(table)
