"""`zoo simulate`: simulate training with several machines."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from netdsl.distributed.machines import Link, SparkLink
from netdsl.planner.units import bandwidth, seconds
from zoo.cli import options, simulation_options
from zoo.cli.options import as_json
from zoo.cli.output import complain, print_json
from zoo.cli.simulated_figures import alexnet_command, cost_command, methods_command, speedup_command
from zoo.cli.simulation_display import print_table, trainings_bar
from zoo.cli.simulation_options import COUNT
from zoo.names import solver_of

if TYPE_CHECKING:
    from zoo.simulating.estimate import SpeedupEstimate


_FIGURES = (speedup_command, cost_command, methods_command, alexnet_command)


@click.group("simulate", commands=_FIGURES, short_help="Simulate training with several machines.")
def command() -> None:
    """Simulate training with several machines. Every worker is really trained, in the memory of this machine; only the
    time that computing and exchanging take is simulated.

    `run` simulates a net of your own. The other commands draw figures of the SparkNet and MPCA papers again, with a
    small net on digits, and write a PNG and CSV files.
    """


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
    if (model is None) == (solver is None):
        raise click.UsageError("Give a MODEL of the zoo, or --solver FILE.")
    from netdsl.distributed.run import Run
    from netdsl.distributed.strategies.settings import parse
    from netdsl.solver.settings import read_settings
    from zoo.simulating.estimate import SimulatedCluster, estimate_speedup
    from zoo.training import holds_out, with_data

    param, folder = (read_settings(solver), Path(solver).parent) if solver is not None else solver_of(str(model))
    if data is not None:
        if holds_out(param, data, None):
            complain(f"every tenth item of {data} is held out for tests")
        param = with_data(param, folder, data, None)
    param.max_iter = max_iter or param.max_iter
    param.test_interval = test_interval or param.test_interval
    param.random_seed = max(0, param.random_seed) if seed is None else seed  # a simulation can always be repeated
    link = (SparkLink if spark else Link)(bandwidth(width), seconds(latency))
    step_seconds = None if step is None else seconds(step)
    scene = SimulatedCluster(link, step_seconds, stragglers, slowdown, jitter, lost, lost_after)
    with trainings_bar("simulating") as progress:
        result = estimate_speedup(Run(param, parse(strategy), workers, folder), scene, progress, accuracy)
    _show(result, as_json)


def _show(result: SpeedupEstimate, as_json: bool) -> None:
    if as_json:
        print_json({**asdict(result), "speedup": result.speedup})
        return
    from zoo.simulating.tables import estimate_table

    print_table(estimate_table(result))
    if result.speedup is not None:
        click.echo(f"{result.speedup:.2f} times as fast as one machine")
