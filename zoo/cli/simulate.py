"""`zoo simulate`: simulate training with several machines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from netdsl.distributed.machines import Link, SparkLink
from netdsl.planner.units import bandwidth, seconds
from zoo.cli import options, simulation_options
from zoo.cli.output import complain, print_json
from zoo.cli.simulation_options import COUNT

if TYPE_CHECKING:
    from zoo.simulating.estimate import SpeedupEstimate
    from zoo.simulating.figures import DrawnFigure, FigureFolder, Table
    from zoo.simulating.trials import ProgressCallback


@click.group("simulate", short_help="Simulate training with several machines.")
def command() -> None:
    """Simulate training with several machines. Every worker is really trained, in the memory of this machine; only the
    time that computing and exchanging take is simulated.

    `run` simulates a net of your own. The other commands draw figures of the SparkNet and MPCA papers again, with a
    small net on digits, and write a PNG and CSV files.
    """


@command.command("speedup", short_help="Draw SparkNet's Figure 3: speed-up by workers and tau.")
@simulation_options.output
@click.option(
    "--workers",
    metavar="K,K,...",
    default="1,2,3,4,5,6",
    show_default=True,
    callback=simulation_options.numbers,
    help="Numbers of workers, K.",
)
@simulation_options.taus
@simulation_options.goal
@simulation_options.seeds
@simulation_options.iterations(4000)
@simulation_options.cache
@options.as_json
def speedup_command(
    output: Path,
    workers: tuple[int, ...],
    taus: tuple[int, ...],
    accuracy: float,
    seeds: int,
    iterations: int,
    cache: Path,
    as_json: bool,
) -> None:
    """Draw how many times faster K workers, which average their models after every tau iterations, reach an accuracy
    than one worker, if exchanging costs no time: N_a / (tau M_a), with medians over the seeds.
    """
    from zoo.simulating.convergence import ConvergenceExperiment
    from zoo.simulating.digits import DigitsTask

    experiment = ConvergenceExperiment(accuracy, seeds, DigitsTask(iterations=iterations))
    _print_figure(_figure_folder(output, cache).speedup(experiment, workers, taus), as_json=as_json)


@command.command("cost", short_help="Draw SparkNet's Figure 4: speed-up by the cost of exchanges.")
@simulation_options.output
@click.option(
    "--workers", type=click.IntRange(min=2), metavar="K", default=5, show_default=True, help="The number of workers, K."
)
@simulation_options.taus
@simulation_options.goal
@simulation_options.seeds
@simulation_options.iterations(4000)
@simulation_options.link
@simulation_options.cache
@options.as_json
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
    as_json: bool,
) -> None:
    """Draw the speed-up of K workers by the cost of an exchange, S, in units of an iteration, C(b): for model averaging
    with the best tau, and for batches that are divided among the workers.

    A table has the time of a batch of size b on this machine, C(b), the time of an exchange on the network, S, and the
    number of iterations that one machine needs with such batches, N_a(b).
    """
    from zoo.simulating.convergence import ConvergenceExperiment
    from zoo.simulating.digits import DigitsTask

    link = Link(bandwidth(width), seconds(latency))
    experiment = ConvergenceExperiment(accuracy, seeds, DigitsTask(iterations=iterations))
    _print_figure(_figure_folder(output, cache).cost(experiment, workers, taus, link), as_json=as_json)


@command.command("methods", short_help="Draw the MPCA paper's comparison of four methods.")
@simulation_options.output
@click.option(
    "--workers", type=click.IntRange(min=2), metavar="K", default=8, show_default=True, help="The number of workers, K."
)
@simulation_options.seeds
@simulation_options.iterations(4000)
@simulation_options.cache
@options.as_json
def methods_command(output: Path, workers: int, seeds: int, iterations: int, cache: Path, as_json: bool) -> None:
    """Draw the error over time of one machine, of synchronous averaging, of elastic averaging (EASGD) and of MPCA, on
    networks that average the models of all workers in the time of 10 and of 100 iterations: by a ring of workers, where
    that takes little more than sending a model once, and by Spark's own jobs, where it takes 12.6 times as long.
    """
    from zoo.simulating.digits import DigitsTask
    from zoo.simulating.methods import MethodComparison

    comparison = MethodComparison(workers, seeds, DigitsTask(iterations=iterations))
    _print_figure(_figure_folder(output, cache).methods(comparison), as_json=as_json)


@command.command("alexnet", short_help="Draw SparkNet's Figures 5 and 7: AlexNet by workers and tau.")
@simulation_options.output
@click.option(
    "--accuracy",
    type=click.FloatRange(0, 1),
    metavar="A",
    default=0.9,
    show_default=True,
    help="The accuracy of the table.",
)
@simulation_options.seeds
@simulation_options.iterations(1500)
@simulation_options.cache
@options.as_json
def alexnet_command(output: Path, accuracy: float, seeds: int, iterations: int, cache: Path, as_json: bool) -> None:
    """Draw the accuracy over time of a small AlexNet on digits: of 1, 3, 5 and 10 workers that average after every 50
    iterations, and of 5 workers for several taus. An iteration takes 2 seconds and an exchange among five 20 seconds,
    as in the SparkNet paper.
    """
    from zoo.simulating.scaling import AlexNetTask, ScalingExperiment

    experiment = ScalingExperiment(seeds, AlexNetTask(iterations=iterations))
    _print_figure(_figure_folder(output, cache).alexnet(experiment, accuracy), as_json=as_json)


@command.command("run", short_help="Simulate the training of a net of your own.")
@click.argument("model", required=False)
@click.option("--solver", metavar="FILE", help="The solver's settings, which name the net; instead of MODEL.")
@click.option("--data", metavar="SOURCE", help=options.DATA_HELP)
@click.option(
    "--strategy",
    metavar="NAME:SETTINGS",
    default="averaging",
    show_default=True,
    help="As of `zoo train`: averaging:tau=50.",
)
@click.option("--workers", type=COUNT, metavar="K", default=4, show_default=True, help="How many machines.")
@simulation_options.link
@click.option("--step", metavar="TIME", help="The time of an iteration on one machine; measured here by default.")
@click.option("--stragglers", type=click.IntRange(min=0), metavar="N", default=0, help="How many machines are slow.")
@click.option(
    "--slowdown",
    type=click.FloatRange(min=1),
    metavar="X",
    default=2.0,
    show_default=True,
    help="How many times slower they are.",
)
@click.option(
    "--jitter",
    metavar="X",
    type=click.FloatRange(min=0),
    default=0.0,
    help="How much the times of steps vary: 0.2 is about a fifth.",
)
@click.option(
    "--lost",
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    help="How many machines are lost on the way, for good.",
)
@click.option("--lost-after", type=click.IntRange(min=0), default=0, metavar="N", help="After how many iterations.")
@click.option("--spark", is_flag=True, help="Models are averaged by Spark's own jobs, through a driver.")
@click.option(
    "--accuracy",
    type=click.FloatRange(0, 1),
    metavar="A",
    help="Train until it is reached, and compare the times until then.",
)
@click.option("--max-iter", type=COUNT, metavar="N", help="Train to this iteration instead.")
@click.option("--test-interval", type=COUNT, metavar="N", help="Test after this many iterations instead.")
@click.option(
    "--seed", type=click.IntRange(min=0), metavar="N", help="The random seed instead; 0 if the settings have none."
)
@options.as_json
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
    lost: int,
    lost_after: int,
    spark: bool,
    accuracy: float | None,
    max_iter: int | None,
    test_interval: int | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """Simulate the training of a MODEL of the zoo, or of a net of your own by its --solver, with several workers and
    with one, and print when each reaches which accuracy, and what it spends its time on. Without --accuracy both train
    to the end, and are compared by the best accuracy that both reach.
    """
    options.check_model_or_solver(model, solver)
    from netdsl.distributed.run import Run
    from netdsl.distributed.strategies.settings import parse
    from netdsl.training.data_sources import holds_out, with_data
    from zoo.simulating.estimate import SimulatedCluster, estimate_speedup

    settings, folder = options.solver_settings(model, solver)
    param = settings.param
    if data is not None:
        if holds_out(param, data, None):
            complain(f"every tenth item of {data} is held out for tests")
        settings = with_data(settings, data, None)
    settings = settings.with_fields(
        max_iter=max_iter or param.max_iter,
        test_interval=test_interval or param.test_interval,
        random_seed=max(0, param.random_seed) if seed is None else seed,  # a simulation can always be repeated
    )
    link = (SparkLink if spark else Link)(bandwidth(width), seconds(latency))
    step_seconds = None if step is None else seconds(step)
    scene = SimulatedCluster(link, step_seconds, stragglers, slowdown, jitter, lost, lost_after)
    with _trainings_bar("simulating") as progress:
        result = estimate_speedup(Run(settings, parse(strategy), workers, folder), scene, progress, accuracy)
    _show_estimate(result, as_json)


def _show_estimate(result: SpeedupEstimate, as_json: bool) -> None:
    if as_json:
        print_json({**asdict(result), "speedup": result.speedup})
        return
    from zoo.simulating.estimate import estimate_table

    _print_table(estimate_table(result))
    if result.speedup is not None:
        click.echo(f"{result.speedup:.2f} times as fast as one machine")


def _figure_folder(output: Path, cache: Path) -> FigureFolder:
    from zoo.simulating.figures import FigureFolder
    from zoo.simulating.trials import TrialCache

    return FigureFolder(output, TrialCache(cache), _trainings_bar)


@contextmanager
def _trainings_bar(label: str) -> Iterator[ProgressCallback]:
    """A function that shows how many trainings are done: by a bar on a terminal, elsewhere by a line for each tenth."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _progress_lines(label)
        return
    columns = TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _progress_lines(label: str) -> ProgressCallback:
    shown = -1

    def show(done: int, total: int) -> None:
        nonlocal shown
        if 10 * done // total > shown:
            shown = 10 * done // total
            click.echo(f"{label}: {done} of {total} trainings done", err=True)

    return show


def _print_figure(figure: DrawnFigure, *, as_json: bool) -> None:
    """Print the table of a figure, or its rows as JSON with the files that were written."""
    if not as_json:
        _print_table(figure.table)
        return
    heads, *rows = figure.table
    cells = [dict(zip(heads, map(_json_cell, row), strict=True)) for row in rows]
    print_json({"files": [str(file) for file in figure.files], "rows": cells})


def _json_cell(text: str) -> str | float:
    """A table's cell: a number, if it is one."""
    try:
        return float(text)
    except ValueError:
        return text


def _print_table(table: Table) -> None:
    """Print a table in columns."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for first, *others in table:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        click.echo("  ".join(cells).rstrip())
