"""The facts of a run in words: the net, the settings, the workers, the results, and the plan."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from google.protobuf.descriptor import FieldDescriptor

from caffe_proto import caffe_pb2 as pb
from netdsl.charts import less_is_better, number
from netdsl.distributed.run import Run
from netdsl.distributed.run_log import RoundRecord
from netdsl.distributed.run_starts import RunStart
from netdsl.distributed.strategies.settings import text_of
from netdsl.net.graph import Phase, is_included
from netdsl.planner.plan import Forecast
from netdsl.planner.units import format_bytes, format_seconds
from zoo.logs.summary import LoggedScore
from zoo.report.recorded_run import RecordedRun

_NOT_SHOWN = ("snapshot_prefix",)  # settings of file locations, which don't affect a training
_HASH = 12  # number of characters of a commit


@dataclass(frozen=True)
class Fact:
    """A named fact."""

    name: str
    value: str


@dataclass(frozen=True)
class SummaryTile:
    """One of the most important numbers of a report."""

    name: str
    value: str
    more: str


def tiles_of(recorded: RecordedRun) -> list[SummaryTile]:
    """Return the numbers at the top of a report."""
    summary, last = recorded.summary, recorded.run.solver.param.max_iter
    tiles = [_test_tile(test) for test in summary.tests]
    is_early = summary.iteration < last
    progress = f"of {last:,}; not finished" if is_early else "finished"
    if recorded.is_finished and is_early:
        progress = f"of {last:,}; ended early, since tests no longer improved"
    tiles.append(SummaryTile("iterations", f"{summary.iteration:,}", progress))
    rate = f"{number(summary.iterations_per_second)} iterations/s in total"
    return [*tiles, SummaryTile("time", duration(summary.seconds), rate)]


def _test_tile(test: LoggedScore) -> SummaryTile:
    best = "lowest" if less_is_better(test.name) else "best"
    more = f"{best} {number(test.best)} at iteration {test.best_iteration:,}"
    return SummaryTile(f"test {test.name}", number(test.last), more)


def training_facts(recorded: RecordedRun) -> list[Fact]:
    """Return facts about the net, the data and the workers."""
    run, summary = recorded.run, recorded.summary
    facts = [Fact("Net", recorded.name), *_data_facts(run)]
    if recorded.tuned is not None:
        facts.insert(1, Fact("Began with", recorded.tuned.beginning))
    facts.append(Fact("Workers", _workers_text(recorded)))
    if run.workers > 1:
        facts.append(Fact("Strategy", text_of(run.strategy)))
        facts.append(Fact("Transport", "chosen at the start" if run.transport is None else run.transport.value))
    facts.append(Fact("Device", ", ".join(dict.fromkeys(map(str, run.devices))) or str(run.compute.device)))
    precision = run.compute.precision.value
    facts.append(Fact("Precision", f"{precision}, compiled" if run.compute.compiled else precision))
    if run.compute.caffe_gradients:
        facts.append(Fact("Gradients", "as in Caffe for in-place layers"))
    if run.weights:
        facts.append(Fact("Initial weights", ", ".join(Path(name).name for name in run.weights)))
    facts.append(Fact("Rounds", f"{summary.rounds:,}"))
    facts.append(Fact("Exchanged", f"{sum(worker.bytes for worker in summary.workers) / 1e6:,.1f} MB"))
    return facts


def _workers_text(recorded: RecordedRun) -> str:
    run, took_part = recorded.run, len(recorded.summary.workers)
    most = f"{run.workers}" if run.fewest is None else f"{run.fewest} to {run.workers}"
    return most if took_part == run.workers else f"{most}; {took_part} took part"


def _data_facts(run: Run) -> Iterator[Fact]:
    """Yield the names of the training and test data, as in the nets and tables."""
    for phase, models in ((Phase.TRAIN, [run.solver.trained]), (Phase.TEST, run.solver.tested)):
        table = run.tables.get(phase)
        names = (name for model in models for name in _source_names(model.net))
        sources = [*names] if table is None else [table.source]
        if sources:
            yield Fact("Trains on" if phase is Phase.TRAIN else "Tests on", ", ".join(dict.fromkeys(sources)))


def data_of(run: Run, phase: Phase) -> str | None:
    """Return the name of the data of the training net or of the first test net, or `None`."""
    if phase in run.tables:
        return run.tables[phase].source
    models = [run.solver.trained] if phase is Phase.TRAIN else run.solver.tested[:1]
    return next((name for model in models for name in _source_names(model.net)), None)


def _source_names(net: pb.NetParameter) -> Iterator[str]:
    """Yield the names of the data that the net's layers read in its state, from all settings with the name `source`."""
    for layer in net.layer:
        if not layer.bottom and is_included(layer, net.state):
            for setting, value in layer.ListFields():
                if setting.message_type is not None and "source" in setting.message_type.fields_by_name:
                    yield value.source


def solver_facts(solver: pb.SolverParameter) -> list[Fact]:
    """Return the solver's settings, without the nets."""
    return [
        Fact(setting.name, _setting_text(setting, value))
        for setting, value in solver.ListFields()
        if setting.message_type is None and setting.name not in _NOT_SHOWN
    ]


def parameters_of(run: Run) -> dict[str, str]:
    """Return the settings of a run by name, for the logs of other programs."""
    facts = [*_data_facts(run), Fact("workers", str(run.workers)), *solver_facts(run.solver.param)]
    if run.workers > 1:
        facts.append(Fact("strategy", text_of(run.strategy)))
    return {fact.name: fact.value for fact in facts}


def _setting_text(setting: FieldDescriptor, value: object) -> str:
    values = value if isinstance(value, Sequence) and not isinstance(value, (str, bytes)) else [value]
    if setting.enum_type is not None:
        values = [setting.enum_type.values_by_number[int(str(each))].name for each in values]
    return ", ".join(f"{each:g}" if isinstance(each, float) else str(each) for each in values)


def start_facts(start: RunStart) -> list[Fact]:
    """Return when and where a run was started, and with which software."""
    facts = [
        Fact("Started", datetime.fromtimestamp(start.time, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")),
        Fact("In", start.folder),
        Fact("System", start.system),
        Fact("Cores", str(start.cores)),
        Fact("GPUs", ", ".join(start.gpus) or "none"),
        Fact("Python", start.python),
        *(Fact(name, version) for name, version in start.versions.items()),
    ]
    return facts if start.commit is None else [*facts, Fact("Commit", start.commit[:_HASH])]


def command_of(start: RunStart) -> str:
    """Return the command in a form that can be typed again."""
    return shlex.join(start.command)


def duration(seconds: float) -> str:
    """Return a length of time in a readable form."""
    if seconds < 120:
        return f"{seconds:,.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 120:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60:,} h {minutes % 60} min"


@dataclass(frozen=True)
class PlannedFigure:
    """A number from a plan, and the measured number."""

    name: str
    planned: str
    measured: str
    ratio: float | None  # measured divided by planned


def planned_figures(recorded: RecordedRun) -> list[PlannedFigure]:
    """Return the figures of the run's plan, or nothing if there is no plan. The first round is a warm-up, and counts
    only if there is no other."""
    if recorded.plan is None:
        return []
    first = min(record.number for record in recorded.records)
    records = [record for record in recorded.records if record.number > first] or list(recorded.records)
    return list(_compared_figures(recorded.plan.forecast, records, max(record.memory for record in recorded.records)))


def _compared_figures(forecast: Forecast, records: Sequence[RoundRecord], memory: int) -> Iterator[PlannedFigure]:
    steps = sum(record.steps for record in records)
    if steps:
        compute = sum(record.compute for record in records) / steps
        exchange = sum(record.wait + record.exchange for record in records) / steps
        yield _compared_times("Computing an iteration", forecast.compute, compute)
        yield _compared_times("Exchanges and waits, per iteration", forecast.exchange, exchange)
        yield _compared_times("A whole iteration", forecast.iteration, compute + exchange)
    if memory:
        ratio = memory / forecast.memory if forecast.memory else None
        yield PlannedFigure("Memory of a worker", format_bytes(forecast.memory), format_bytes(memory), ratio)


def _compared_times(name: str, planned: float, measured: float) -> PlannedFigure:
    ratio = measured / planned if planned else None
    return PlannedFigure(name, format_seconds(planned), format_seconds(measured), ratio)
