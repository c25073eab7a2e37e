"""The commands of `zoo simulate` that draw the papers' figures again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from netdsl.distributed.machines import Link
from netdsl.planner.units import bandwidth, seconds
from zoo.cli import simulation_options as options
from zoo.cli.options import as_json
from zoo.cli.simulation_display import print_figure, trainings_bar

if TYPE_CHECKING:
    from zoo.simulating.experiments import FigureFolder


@click.command("speedup", short_help="Draw SparkNet's Figure 3: speed-up by workers and tau.")
@options.output
@click.option(
    "--workers",
    metavar="K,K,...",
    default="1,2,3,4,5,6",
    show_default=True,
    callback=options.numbers,
    help="Numbers of workers, K.",
)
@options.taus
@options.goal
@options.seeds
@options.iterations(4000)
@options.cache
@as_json
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
    print_figure(_folder(output, cache).speedup(experiment, workers, taus), as_json=as_json)


@click.command("cost", short_help="Draw SparkNet's Figure 4: speed-up by the cost of exchanges.")
@options.output
@click.option(
    "--workers", type=click.IntRange(min=2), metavar="K", default=5, show_default=True, help="The number of workers, K."
)
@options.taus
@options.goal
@options.seeds
@options.iterations(4000)
@options.link
@options.cache
@as_json
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
    print_figure(_folder(output, cache).cost(experiment, workers, taus, link), as_json=as_json)


@click.command("methods", short_help="Draw the MPCA paper's comparison of four methods.")
@options.output
@click.option(
    "--workers", type=click.IntRange(min=2), metavar="K", default=8, show_default=True, help="The number of workers, K."
)
@options.seeds
@options.iterations(4000)
@options.cache
@as_json
def methods_command(output: Path, workers: int, seeds: int, iterations: int, cache: Path, as_json: bool) -> None:
    """Draw the error over time of one machine, of synchronous averaging, of elastic averaging (EASGD) and of MPCA, on
    networks that average the models of all workers in the time of 10 and of 100 iterations: by a ring of workers, where
    that takes little more than sending a model once, and by Spark's own jobs, where it takes 12.6 times as long.
    """
    from zoo.simulating.digits import DigitsTask
    from zoo.simulating.methods import MethodComparison

    comparison = MethodComparison(workers, seeds, DigitsTask(iterations=iterations))
    print_figure(_folder(output, cache).methods(comparison), as_json=as_json)


@click.command("alexnet", short_help="Draw SparkNet's Figures 5 and 7: AlexNet by workers and tau.")
@options.output
@click.option(
    "--accuracy",
    type=click.FloatRange(0, 1),
    metavar="A",
    default=0.9,
    show_default=True,
    help="The accuracy of the table.",
)
@options.seeds
@options.iterations(1500)
@options.cache
@as_json
def alexnet_command(output: Path, accuracy: float, seeds: int, iterations: int, cache: Path, as_json: bool) -> None:
    """Draw the accuracy over time of a small AlexNet on digits: of 1, 3, 5 and 10 workers that average after every 50
    iterations, and of 5 workers for several taus. An iteration takes 2 seconds and an exchange among five 20 seconds,
    as in the SparkNet paper.
    """
    from zoo.simulating.alexnet import AlexNetTask
    from zoo.simulating.scaling import ScalingExperiment

    experiment = ScalingExperiment(seeds, AlexNetTask(iterations=iterations))
    print_figure(_folder(output, cache).alexnet(experiment, accuracy), as_json=as_json)


def _folder(output: Path, cache: Path) -> FigureFolder:
    from zoo.simulating.cache import TrialCache
    from zoo.simulating.experiments import FigureFolder

    return FigureFolder(output, TrialCache(cache), trainings_bar)
