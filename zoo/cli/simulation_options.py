"""Options that the commands of `zoo simulate` share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from zoo.cli.options import Decorator

COUNT = click.IntRange(min=1)


def numbers(ctx: click.Context, parameter: click.Parameter, value: str) -> tuple[int, ...]:
    """Parse numbers with commas between them, each of which counts once."""
    words = value.split(",")
    if not all(word.isdecimal() and int(word) for word in words):
        raise click.BadParameter(f"'{value}' isn't like 1,2,5, whole numbers above 0")
    return tuple(dict.fromkeys(map(int, words)))


def _existing_folder(ctx: click.Context, parameter: click.Parameter, value: Path) -> Path:
    """Create an output folder before anything is trained."""
    try:
        value.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise click.BadParameter(f"{value} can't be created: {problem.strerror}") from None
    return value


def link(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of the network between machines."""
    function = click.option(
        "--latency", metavar="TIME", default="0.1ms", show_default=True, help="The time until the first byte arrives."
    )(function)
    return click.option(
        "--bandwidth",
        "width",
        metavar="RATE",
        default="1Gbit",
        show_default=True,
        help="Per second, for each worker and direction.",
    )(function)


output: Decorator = click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=".", callback=_existing_folder, metavar="FOLDER",
    help="Where the files go.",
)  # fmt: skip
cache: Decorator = click.option(
    "--cache", type=click.Path(path_type=Path), default="~/.cache/netdsl/simulate", show_default=True, metavar="FOLDER",
    help="Where the results of trainings are kept.",
)  # fmt: skip
seeds: Decorator = click.option(
    "--seeds", type=COUNT, metavar="N", default=3, show_default=True, help="How often each training is repeated."
)
goal: Decorator = click.option(
    "--accuracy",
    type=click.FloatRange(0, 1),
    metavar="A",
    default=0.96,
    show_default=True,
    help="The accuracy to reach.",
)
taus: Decorator = click.option(
    "--taus",
    metavar="N,N,...",
    default="1,2,5,10,25,100,250",
    show_default=True,
    callback=numbers,
    help="Iterations of a round; several values.",
)


def iterations(count: int) -> Decorator:
    """The option for how long a training may be, with a default."""
    return click.option(
        "--iterations",
        type=COUNT,
        metavar="N",
        default=count,
        show_default=True,
        help="The most iterations of a training.",
    )
