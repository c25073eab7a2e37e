"""`zoo simulate`: training with several machines, on a clock that isn't real."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from netdsl.distributed.plan import Plan
from netdsl.distributed.simulator.link import Link
from netdsl.distributed.strategies.settings import parse
from netdsl.solver.settings import read_settings
from zoo.cli.options import Decorator, as_json
from zoo.cli.output import print_json
from zoo.models import folder_of, solver_of
from zoo.simulating import figures, tables
from zoo.simulating.cache import DEFAULT, TrialCache
from zoo.simulating.convergence import ConvergenceExperiment
from zoo.simulating.cost import batch_costs, costs
from zoo.simulating.digits import DigitsTask
from zoo.simulating.estimate import SimulatedCluster, SpeedupEstimate, estimate_speedup
from zoo.simulating.methods import MethodComparison, compare_methods
from zoo.simulating.pool import ProgressCallback
from zoo.simulating.speedup import TAUS, WORKERS, speedups
from zoo.simulating.units import bandwidth, seconds
from zoo.training import with_data

_COUNT = click.IntRange(min=1)


def _numbers(ctx: click.Context, parameter: click.Parameter, value: str) -> tuple[int, ...]:
    words = value.split(",")
    if not all(word.isdecimal() and int(word) for word in words):
        raise click.BadParameter(f"'{value}' isn't like 1,2,5: whole numbers above 0 with commas")
    return tuple(dict.fromkeys(map(int, words)))


def _made(ctx: click.Context, parameter: click.Parameter, value: Path) -> Path:
    """A folder that is there before anything is trained."""
    try:
        value.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise click.BadParameter(f"{value} can't be made: {problem.strerror}") from None
    return value


def _link(function: Callable[..., Any]) -> Callable[..., Any]:
    function = click.option("--latency", default="0.1ms", show_default=True, help="Until the first byte arrives.")(
        function
    )
    return click.option(
        "--bandwidth", "width", default="1Gbit", show_default=True, help="A second's, of each worker, each way."
    )(function)


_output: Decorator = click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=".", callback=_made, metavar="FOLDER",
    help="Where the files go.",
)  # fmt: skip
_cache: Decorator = click.option(
    "--cache", type=click.Path(path_type=Path), default=DEFAULT, show_default=True, metavar="FOLDER",
    help="Where it is kept what trainings gave, which aren't done twice.",
)  # fmt: skip
_seeds: Decorator = click.option("--seeds", type=_COUNT, default=3, show_default=True, help="Trainings of each kind.")
_goal: Decorator = click.option(
    "--accuracy", type=click.FloatRange(0, 1), default=0.96, show_default=True, help="What is to be reached."
)
_taus: Decorator = click.option(
    "--taus", default=",".join(map(str, TAUS)), show_default=True, callback=_numbers, help="Iterations of a round."
)


def _iterations(count: int) -> Decorator:
    return click.option("--iterations", type=_COUNT, default=count, show_default=True, help="Of the longest training.")


@click.group("simulate", short_help="Training with several machines, on a virtual clock.")
def command() -> None:
    """How training would go with several machines, on a clock that isn't real. Every worker is really trained, in this
    machine's memory; what is made up is the time that computing and exchanging take.

    `run` is for a net of yours. The others draw figures of the SparkNet and MPCA papers again, with a small net on
    digits, and write a PNG and CSV files.
    """


@command.command("speedup", short_help="SparkNet's Figure 3: speed-up by workers and tau.")
@_output
@click.option("--workers", default=",".join(map(str, WORKERS)), show_default=True, callback=_numbers, help="K.")
@_taus
@_goal
@_seeds
@_iterations(4000)
@_cache
def speedup_command(
    output: Path,
    workers: tuple[int, ...],
    taus: tuple[int, ...],
    accuracy: float,
    seeds: int,
    iterations: int,
    cache: Path,
) -> None:
    """How many times sooner K workers, who average their models after every tau iterations, are as accurate as one
    alone, if exchanging costs nothing: N_a / (tau M_a), by the medians over the seeds.
    """
    experiment = ConvergenceExperiment(accuracy, seeds, DigitsTask(iterations=iterations))
    with _progress("speedup") as report_progress:
        found = speedups(experiment, report_progress, TrialCache(cache), workers=workers, taus=taus)
    tables.write_csv(output / "speedup.csv", tables.speedup_table(found))
    figures.draw_speedups(found, accuracy, output / "speedup.png")
    _print(tables.speedup_grid(found))


@command.command("cost", short_help="SparkNet's Figure 4: speed-up by what exchanging costs.")
@_output
@click.option("--workers", type=click.IntRange(min=2), default=5, show_default=True, help="K.")
@_taus
@_goal
@_seeds
@_iterations(4000)
@_link
@_cache
def cost_command(
    output: Path,
    workers: int,
    taus: tuple[int, ...],
    accuracy: float,
    seeds: int,
    iterations: int,
    width: str,
    latency: str,
    cache: Path,
) -> None:
    """The speed-up of K workers by what an exchange costs, S, in iterations, C(b): for model averaging at the best tau,
    and if every batch is divided among the workers.

    A table says what a batch of b takes on this machine, C(b), what an exchange would on the network, S, and how many
    iterations one machine needs with such batches, N_a(b).
    """
    experiment, kept = ConvergenceExperiment(accuracy, seeds, DigitsTask(iterations=iterations)), TrialCache(cache)
    link = Link(bandwidth(width), seconds(latency))
    with _progress("cost") as report_progress:
        found = costs(speedups(experiment, report_progress, kept, workers=[workers], taus=taus))
    with _progress("batches") as report_progress:
        batches = tables.batch_table(batch_costs(experiment, workers, link, report_progress, kept))
    tables.write_csv(output / "cost.csv", tables.cost_table(found))
    tables.write_csv(output / "batches.csv", batches)
    figures.draw_costs(found, workers, output / "cost.png")
    _print(batches)


@command.command("methods", short_help="The MPCA paper's comparison of four methods.")
@_output
@click.option("--workers", type=click.IntRange(min=2), default=8, show_default=True, help="K.")
@_seeds
@_iterations(4000)
@_cache
def methods_command(output: Path, workers: int, seeds: int, iterations: int, cache: Path) -> None:
    """The error over time of one machine, of synchronous averaging, of elastic averaging (EASGD) and of MPCA, on
    networks on which all workers' models are averaged in the time of 10 and of 100 iterations.
    """
    comparison = MethodComparison(workers, seeds, DigitsTask(iterations=iterations))
    with _progress("methods") as report_progress:
        found = compare_methods(comparison, report_progress, TrialCache(cache))
    table = tables.methods_table(found)
    tables.write_csv(output / "methods.csv", table)
    figures.draw_methods(found, output / "methods.png")
    _print(table)


@command.command("run", short_help="How a net of yours would train on a network.")
@click.argument("model", required=False)
@click.option("--solver", metavar="FILE", help="The solver's settings, which name the net; instead of MODEL.")
@click.option("--data", metavar="SOURCE", help="What Data layers read instead: digits, mnist:FOLDER, folder:PATH, ...")
@click.option("--strategy", default="averaging", show_default=True, help="As for training: averaging:tau=50.")
@click.option("--workers", type=_COUNT, default=4, show_default=True, help="How many machines.")
@_link
@click.option("--step", metavar="TIME", help="What an iteration takes on one machine; measured here if not given.")
@click.option("--stragglers", type=click.IntRange(min=0), default=0, help="How many machines are slow.")
@click.option("--slowdown", type=float, default=2.0, show_default=True, help="How many times slower they are.")
@click.option("--jitter", type=click.FloatRange(min=0), default=0.0, help="How much steps vary: 0.2 is about a fifth.")
@click.option("--accuracy", type=click.FloatRange(0, 1), help="Train until it is reached, and compare by that.")
@click.option("--max-iter", type=_COUNT, metavar="N", help="Train to this iteration instead.")
@click.option("--test-interval", type=_COUNT, metavar="N", help="Test so often instead.")
@as_json
def run_command(
    model: str | None,
    solver: str | None,
    data: str | None,
    strategy: str,
    workers: int,
    width: str,
    latency: str,
    step: str | None,
    stragglers: int,
    slowdown: float,
    jitter: float,
    accuracy: float | None,
    max_iter: int | None,
    test_interval: int | None,
    as_json: bool,
) -> None:
    """Train a MODEL of the zoo, or one of your own by its --solver, with several workers and with one, and say when
    each is how accurate, and what it did with its time. Without --accuracy both train to the end, and the best accuracy
    that both have reached is what they are compared by.
    """
    if (model is None) == (solver is None):
        raise click.UsageError("Give a MODEL of the zoo, or --solver FILE.")
    folder = Path(solver).parent if solver is not None else folder_of(str(model))
    param = read_settings(solver) if solver is not None else solver_of(str(model))
    if data is not None:
        param = with_data(param, folder, data, None)
    param.max_iter = max_iter or param.max_iter
    param.test_interval = test_interval or param.test_interval
    link = Link(bandwidth(width), seconds(latency))
    cluster = SimulatedCluster(link, None if step is None else seconds(step), stragglers, slowdown, jitter)
    with _progress("simulating") as report_progress:
        found = estimate_speedup(Plan(param, parse(strategy), workers, str(folder)), cluster, report_progress, accuracy)
    _tell(found, as_json)


def _tell(found: SpeedupEstimate, as_json: bool) -> None:
    if as_json:
        print_json({**asdict(found), "speedup": found.speedup})
        return
    _print(tables.estimate_table(found))
    if found.speedup is not None:
        click.echo(f"{found.speedup:.2f} times as fast as one machine")


@contextmanager
def _progress(what: str) -> Iterator[ProgressCallback]:
    """At a terminal a line that says how many trainings are done."""
    columns = TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _print(table: tables.Table) -> None:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for first, *others in table:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        click.echo("  ".join(cells).rstrip())
