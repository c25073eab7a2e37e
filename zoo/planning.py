"""Plans for `zoo plan`: how to train a net, as tables, plain values and charts."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from caffe_proto.storage import write_pieces
from netdsl.data.sources.open_source import parse_source
from netdsl.distributed.run import Run
from netdsl.distributed.strategies.settings import parse
from netdsl.distributed.transports.transport import Transport
from netdsl.model.data_shapes import plain_data
from netdsl.net.compute_precision import ComputePrecision
from netdsl.planner.advice import Advice, advise, advise_by_profile, format_iterations
from netdsl.planner.device import DeviceCluster, device_text, read_device
from netdsl.planner.measuring import measure_device
from netdsl.planner.plan import write_plan
from netdsl.planner.planning import Candidate, Planner, Planning, PlanRequest, short_name
from netdsl.planner.step_profile import profile_step
from netdsl.planner.units import format_seconds
from netdsl.solver.events import Notice
from netdsl.training.data_sources import with_sources
from zoo.logs.plots import pyplot, save_figure
from zoo.names import settings_to_train
from zoo.requests.events import Listen, work
from zoo.requests.planning import PlanningRequest
from zoo.requests.request import answers
from zoo.requests.results import KnowsData

_IMAGENET = 1_281_167  # number of training images


def draw_batches(planning: Planning, path: Path) -> None:
    """Draw the time of an epoch on one device, and the memory, against the batch of a pass."""
    figure, (left, right) = pyplot().subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    batches = [cost.batch for cost in planning.passes]
    epochs = [planning.request.items * cost.seconds / cost.batch for cost in planning.passes]
    left.plot(batches, epochs, marker="o")
    left.set_ylabel("an epoch on one device")
    left.yaxis.set_major_formatter(lambda value, place: format_seconds(value))
    left.set_ylim(bottom=0)
    right.plot(batches, [cost.bytes / 1e9 for cost in planning.passes], marker="o", label="needed")
    right.axhline(planning.request.cluster.device.memory / 1e9, color="gray", linestyle="--", label="memory available")
    right.set_ylabel("GB")
    right.set_yscale("log")
    right.legend(frameon=False)
    for axis in (left, right):
        axis.set_xscale("log", base=2)
        axis.set_xticks(batches, [str(batch) for batch in batches], rotation=45)
        axis.tick_params(axis="x", which="minor", bottom=False)
        axis.set_xlabel("batch of a pass")
    save_figure(figure, path)


def draw_speedups(planning: Planning, path: Path) -> None:
    """Draw the speed-up of several workers over one, for each strategy with its best tau."""
    figure, axis = pyplot().subplots(figsize=(7, 4.2), layout="constrained")
    names = dict.fromkeys(each.strategy.name for each in planning.candidates)
    alone = min((each.forecast.training for each in planning.candidates if each.workers == 1), default=None)
    most = planning.request.cluster.workers
    for name in names:
        ways = planning.by_workers(name)
        if alone is not None and len(ways) > 1:
            known = all(each.measured for each in ways)
            speedups = [alone / each.forecast.training for each in ways]
            axis.plot([each.workers for each in ways], speedups, marker=".", ls="-" if known else ":", label=name)
    axis.plot([1, most], [1, most], color="gray", linewidth=0.8, linestyle="--", label="linear speed-up")
    axis.set_xlabel("workers; dotted: if it converges as averaging does")
    axis.set_ylabel("speed-up over one worker")
    axis.set_ylim(bottom=0)
    axis.legend(frameon=False)
    save_figure(figure, path)


@dataclass(frozen=True)
class MadePlan(KnowsData):
    """A plan with its advice, and the files that were written: a plan, a device or charts."""

    planning: Planning
    advice: Advice
    profile: tuple[str, ...]

    @property
    def rows(self) -> list[dict[str, str]]:
        """A row for the best variant of each strategy, with the recommended number of workers."""
        return [_row_of_candidate(each) for each in self.planning.by_strategy()]

    @property
    def is_guessed(self) -> bool:
        """Whether the number of iterations is a guess for one of the strategies, since no training has measured it."""
        return not all(each.measured for each in self.planning.by_strategy())

    def plain(self) -> dict[str, Any]:
        """Return the plan as JSON values."""
        planning, advice = self.planning, self.advice
        return {
            "net": planning.net,
            "device": planning.request.cluster.device.name,
            "use": advice.use,
            "takes": advice.takes,
            "limits": advice.limits,
            "change_first": advice.change_first,
            "algorithms": planning.best.cost.algorithms,
            "ways": [_plain_candidate(each) for each in planning.candidates],
            "passes": [
                {"batch": cost.batch, "seconds": cost.seconds, "bytes": cost.bytes, "memory": vars(cost.memory)}
                for cost in planning.passes
            ],
            "profile": self.profile,
            **plain_data(self.data),
        }


@answers(PlanningRequest)
def plan(request: PlanningRequest, listen: Listen) -> MadePlan | None:
    """Plan how to train a net. Returns `None` if the request only measures this machine."""
    if request.measure is not None:
        with work(listen, "measuring", 1) as advance:
            device = measure_device(request.measure.stem, done=advance)
        write_pieces(request.measure, [device_text(device).encode()])
    if request.only_measures:
        return None
    settings, folder = settings_to_train(request.model, request.solver)
    asked, planner = _asked_of_planner(request), Planner(settings, request.assume)
    planning = planner.plan(asked)
    advice = advise(planner, planning)
    profile: tuple[str, ...] = ()
    if request.profile:
        run = Run(settings, folder=folder)
        run = with_sources(run, request.data, None) if request.data else run
        profile = advise_by_profile(profile_step(run), asked.cluster.workers)
    request.warn_of_unused(planner.data, listen)
    if request.items is None and request.data is None:
        text = f"assuming that an epoch has ImageNet's {_IMAGENET:,} items; use --items or --data to change that"
        listen(Notice(text))
    if request.output is not None:
        write_plan(planning.plan(advice.sentences), request.output)
    if request.pictures is not None:
        request.pictures.mkdir(parents=True, exist_ok=True)
        draw_batches(planning, request.pictures / "batches.png")
        draw_speedups(planning, request.pictures / "speedups.png")
    return MadePlan(planning, advice, profile, data=planner.data)


def _asked_of_planner(request: PlanningRequest) -> PlanRequest:
    cluster = DeviceCluster(
        read_device(request.device),
        request.devices,
        request.machines,
        request.bandwidth,
        request.latency,
        request.stragglers,
        request.slowdown,
        transport=None if request.transport is None else Transport(request.transport),
    )
    items = request.items
    if items is None and request.data is not None:
        with closing(parse_source(request.data).train_and_test()[0].open()) as source:
            items = len(source)
    return PlanRequest(
        cluster,
        _IMAGENET if items is None else items,
        ComputePrecision(request.precision),
        request.batch,
        () if request.strategy is None else (parse(request.strategy),),
        request.deadline,
        request.budget,
    )


def _row_of_candidate(candidate: Candidate) -> dict[str, str]:
    forecast = candidate.forecast
    return {
        "strategy": short_name(candidate.strategy) + ("" if candidate.measured else " *"),
        "workers": str(candidate.workers),
        "batch": str(candidate.cost.batch),
        "computing": format_seconds(forecast.compute),
        "exchange": format_seconds(forecast.exchange),
        "epoch": format_seconds(forecast.epoch),
        "iterations": format_iterations(forecast),
        "training": format_seconds(forecast.training),
    }


def _plain_candidate(candidate: Candidate) -> dict[str, Any]:
    forecast = candidate.forecast
    return {
        "strategy": short_name(candidate.strategy),
        "workers": candidate.workers,
        "batch": candidate.cost.batch,
        "iter_size": candidate.passes,
        "compute": forecast.compute,
        "exchange": forecast.exchange,
        "memory": forecast.memory,
        "epoch": forecast.epoch,
        "iterations": forecast.iterations,
        "estimated": forecast.estimated,
        "training": forecast.training,
    }
