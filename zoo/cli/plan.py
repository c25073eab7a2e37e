"""`zoo plan`: say how a net is best trained on some machines, and what that will take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich import box
from rich.table import Table

from netdsl.planner.units import bandwidth, seconds
from zoo.cli import options, shapes
from zoo.cli.console import table_console
from zoo.cli.output import complain, print_json, progress_bar
from zoo.cli.shapes import Shape

if TYPE_CHECKING:
    from netdsl.planner.planning import PlanRequest
    from netdsl.solver.settings import SolverSettings

_COUNT = click.IntRange(min=1)
_IMAGENET = 1_281_167  # images to train on
_STRATEGY_HEADS = ("strategy", "workers", "batch", "computing", "exchange", "epoch", "iterations", "training")


def _parsed_bandwidth(ctx: click.Context, parameter: click.Parameter, value: str) -> float:
    return bandwidth(value)


def _parsed_seconds(ctx: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    return None if value is None else seconds(value)


def _parsed_batches(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    words = value.split(":")
    if len(words) > 2 or not all(word.isdecimal() and int(word) for word in words) or int(words[0]) > int(words[-1]):
        raise click.BadParameter(f"'{value}' is no batch such as 256, and no range such as 64:1024")
    return int(words[0]), int(words[-1])


@click.command("plan", short_help="Say how a net is best trained on some machines, and what it takes.")
@click.argument("model", required=False)
@click.option("--solver", metavar="FILE", help="The solver's settings, which name the net; instead of MODEL.")
@click.option(
    "--device", default="laptop", show_default=True, metavar="NAME|FILE", help="h100, a100, v100, k80, ..., or a file."
)
@click.option("--devices", type=_COUNT, default=1, show_default=True, metavar="N", help="Devices of a machine.")
@click.option("--machines", type=_COUNT, default=1, show_default=True, metavar="K", help="Machines.")
@click.option(
    "--bandwidth",
    "network",
    default="1Gbit",
    show_default=True,
    callback=_parsed_bandwidth,
    metavar="RATE",
    help="Of a machine.",
)
@click.option(
    "--latency", default="0.1ms", show_default=True, callback=_parsed_seconds, metavar="TIME", help="Of the network."
)
@click.option("--stragglers", type=click.IntRange(min=0), default=0, metavar="N", help="Machines that are slow.")
@click.option(
    "--slowdown", type=click.FloatRange(min=1), default=2.0, metavar="X", help="How many times slower they are."
)
@click.option("--items", type=_COUNT, metavar="N", help="Items of an epoch; by default those of --data, or ImageNet's.")
@click.option("--data", metavar="SOURCE", help="Data whose items are counted: digits, lmdb:PATH, folder:PATH, ...")
@click.option(
    "--batch", callback=_parsed_batches, metavar="N:M", help="Items of a worker's iteration; by default the solver's."
)
@click.option(
    "--precision",
    type=click.Choice(options.COMPUTE_PRECISIONS),
    default=options.COMPUTE_PRECISIONS[0],
    show_default=True,
    help="What products are computed with.",
)
@click.option("--strategy", metavar="NAME:SETTINGS", help="Only this strategy, as of `zoo train`.")
@click.option("--deadline", callback=_parsed_seconds, metavar="TIME", help="The time there is, such as 20h.")
@click.option(
    "--budget", callback=_parsed_seconds, metavar="TIME", help="The time of all devices together, such as 100h."
)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write the plan, for `zoo train --plan`.")  # fmt: skip
@click.option("--pictures", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER",
              help="Draw time against batch, and speed-up against workers.")  # fmt: skip
@click.option("--profile", is_flag=True, help="Train here for a moment, and say what an iteration's time goes to.")
@click.option(
    "--measure",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Measure this machine, for some minutes, and write a file for --device.",
)
@shapes.assume
@options.as_json
def command(
    model: str | None,
    solver: str | None,
    strategy: str | None,
    output: Path | None,
    pictures: Path | None,
    profile: bool,
    measure: Path | None,
    assume: Mapping[str, Shape],
    as_json: bool,
    **what: Any,
) -> None:
    """Say how a net is best trained on some machines: with which batch, how many workers, which strategy and tau, what
    an iteration, an epoch and the training take, what limits that, and what to change first. Nothing is trained.

    Times come from the net's operations and what is known of the device: from its data sheet, or from measurements
    (--measure writes a file with those of this machine). The iterations of strategies that average models are
    estimates, from trainings of a small net.
    """
    if measure is not None:
        _write_measurements(measure)
        if model is None and solver is None:
            return
    options.check_model_or_solver(model, solver)
    with progress_bar(doing="planning"):
        from netdsl.model.data_shapes import plain_data
        from netdsl.planner.advice import advise, headline
        from netdsl.planner.plan import write_plan
        from netdsl.planner.planning import Planner
        from zoo.planning import draw_batches, draw_speedups, is_marked, plain_planning, strategy_rows

        settings, folder = options.solver_settings(model, solver)
        request = _plan_request(strategy, **what)
        planner = Planner(settings, assume)
        planning = planner.plan(request)
        advice = advise(planner, planning)
        profiled = _profile_sentences(settings, folder, what["data"], request) if profile else ()
    shapes.complain_of_unused(assume, planner.data)
    if what["items"] is None and what["data"] is None:
        complain(f"an epoch is taken as ImageNet's {_IMAGENET:,} items; --items or --data says otherwise")
    if as_json:
        print_json({**plain_planning(planning, advice), "profile": profiled, **plain_data(planner.data)})
    else:
        for sentence in (headline(planning), "", *advice.sentences, *profiled):
            click.echo(sentence)
        rows = strategy_rows(planning)
        _print_strategies(rows)
        if is_marked(rows):
            click.echo("* if it learned as averaging does, which no training has shown here")
    if output is not None:
        write_plan(planning.plan(advice.sentences), output)
        click.echo(f"wrote {output}; train by it with: zoo train --plan {output} ...", err=as_json)
    if pictures is not None:
        pictures.mkdir(parents=True, exist_ok=True)
        draw_batches(planning, pictures / "batches.png")
        draw_speedups(planning, pictures / "speedups.png")
        click.echo(f"wrote {pictures}/batches.png and {pictures}/speedups.png", err=as_json)


def _write_measurements(path: Path) -> None:
    with progress_bar(1, "measuring") as advance:
        from caffe_proto.storage import write_pieces
        from netdsl.planner.device import device_text
        from netdsl.planner.measuring import measure_device

        write_pieces(path, [device_text(measure_device(path.stem, done=advance)).encode()])
    click.echo(f"wrote {path}; plan for it with --device {path}")


def _profile_sentences(
    settings: SolverSettings, folder: Path, data: str | None, request: PlanRequest
) -> tuple[str, ...]:
    from netdsl.distributed.run import Run
    from netdsl.planner.advice import advise_by_profile
    from netdsl.planner.step_profile import profile_step
    from netdsl.training.data_sources import with_sources

    run = Run(settings, folder=folder)
    return advise_by_profile(profile_step(with_sources(run, data, None) if data else run), request.cluster.workers)


def _plan_request(
    strategy: str | None,
    *,
    device: str,
    devices: int,
    machines: int,
    network: float,
    latency: float,
    stragglers: int,
    slowdown: float,
    items: int | None,
    data: str | None,
    batch: tuple[int, int] | None,
    precision: str,
    deadline: float | None,
    budget: float | None,
) -> PlanRequest:
    from netdsl.data.sources.open_source import parse_source
    from netdsl.distributed.strategies.settings import parse
    from netdsl.net.compute_precision import ComputePrecision
    from netdsl.planner.device import DeviceCluster, read_device
    from netdsl.planner.planning import PlanRequest

    cluster = DeviceCluster(read_device(device), devices, machines, network, latency, stragglers, slowdown)
    if items is None and data is not None:
        with closing(parse_source(data).train_and_test()[0].open()) as source:
            items = len(source)
    return PlanRequest(
        cluster,
        _IMAGENET if items is None else items,
        ComputePrecision(precision),
        batch,
        () if strategy is None else (parse(strategy),),
        deadline,
        budget,
    )


def _print_strategies(rows: Sequence[Sequence[str]]) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for index, head in enumerate(_STRATEGY_HEADS):
        table.add_column(head, justify="right" if index else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    table_console().print(table)
