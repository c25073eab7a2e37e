"""`zoo store`: the models that were pulled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from zoo.cli import options
from zoo.cli.console import table_console
from zoo.cli.output import complain, print_json
from zoo.cli.progress_bar import progress_bar
from zoo.cli.pull import readable_size

if TYPE_CHECKING:
    from zoo.store.upkeep import ListedModel


@click.group("store", short_help="List, check and prune the models that were pulled.")
def command() -> None:
    """List, check and prune the models that `zoo pull` fetched. They are in the folder that NETDSL_HOME names, or in
    ~/.cache/netdsl.
    """


@command.command("list", short_help="List the models of the store.")
@options.as_json
def list_command(as_json: bool) -> None:
    """List the models of the store: their names, sizes, tasks and where they are from."""
    from zoo.names import store
    from zoo.store.upkeep import list_models

    models = list_models(store())
    if as_json:
        import msgspec

        print_json(msgspec.to_builtins(models))
    elif models:
        _print_table(models)
    for model in models:
        if model.problem and not as_json:
            complain(model.problem)


def _print_table(models: list[ListedModel]) -> None:
    from rich import box
    from rich.table import Table

    table = Table("model", "size", "task", "from", box=box.SIMPLE)
    table.columns[1].justify = "right"
    for model in models:
        table.add_row(model.name, readable_size(model.size), model.task, model.source or "?")
    table_console().print(table)


@command.command("check", short_help="Compare all files with their hashes.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@options.as_json
def check_command(names: tuple[str, ...], as_json: bool) -> None:
    """Compare all files of the store, or those of some models, with the hashes that they had when they came. The exit
    code is 1 if one differs.
    """
    from zoo.names import store
    from zoo.store.upkeep import added_files, check_model

    local = store()
    models = []
    with progress_bar(len(names or local.names())) as advance:
        for name in names or local.names():
            models.append(check_model(local, name))
            advance()
    bad = [model for model in models if model.problems]
    if as_json:
        print_json([{"model": model.name, "problems": model.problems} for model in models])
    else:
        for model in models:
            for problem in model.problems:
                complain(problem)
            if not model.problems:
                others = added_files(local, local.record(model.name))
                besides = f"; besides there are {', '.join(others)}" if others else ""
                click.echo(f"{model.name} is as it was stored{besides}")
    if bad:
        raise click.exceptions.Exit(1)


@command.command("prune", short_help="Remove what is broken, or models by their names.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Remove all models.")
@options.as_json
def prune_command(names: tuple[str, ...], everything: bool, as_json: bool) -> None:
    """Remove models whose files differ from what was stored, and what pulls left that broke off. With names, remove
    these models and nothing else.
    """
    if names and everything:
        raise click.UsageError("Give names, or --all.")
    from zoo.names import store
    from zoo.store.upkeep import prune

    removed = prune(store(), names, everything=everything)
    if as_json:
        print_json([{"path": str(each.path), "reason": each.reason} for each in removed])
        return
    for each in removed:
        click.echo(f"removed {each.path}: {each.reason}")


@command.command("path", short_help="Print the store's folder, or that of a model.")
@click.argument("name", metavar="[NAME]", required=False)
@options.as_json
def path_command(name: str | None, as_json: bool) -> None:
    """Print the folder of the store, or that of one of its models."""
    from zoo.names import store

    local = store()
    path = local.path if name is None else local.folder(local.record(name).name)
    if as_json:
        print_json({"model": name, "path": str(path)})
    else:
        click.echo(str(path))
