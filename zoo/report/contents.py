"""The contents of a report: a section for each question that a reader has, as far as there is an answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import fmean
from typing import TypeVar

from caffe_proto.errors import CaffeError
from netdsl.charts import Chart, less_is_better, loss_chart, score_chart
from netdsl.distributed.run_log import Activity
from netdsl.model.model import Model
from netdsl.model.opening import open_weights
from netdsl.net.graph import Phase
from netdsl.planner.timing import LayerTime, time_net
from zoo.drawing.net_boxes import boxes_of
from zoo.drawing.picture import picture_of
from zoo.drawing.svg import svg_of
from zoo.logs.summary import RunCurves, WorkerSummary
from zoo.report.facts import (
    Fact,
    PlannedFigure,
    SummaryTile,
    command_of,
    planned_figures,
    solver_facts,
    start_facts,
    tiles_of,
    training_facts,
)
from zoo.report.pictures import FirstFilters, first_filters
from zoo.report.predictions import (
    ClassScores,
    ConfusedPair,
    Confusion,
    TestedModel,
    TestPredictions,
    open_trained,
)
from zoo.report.recorded_run import Points, RecordedRun
from zoo.report.timeline import Timeline, timeline_of
from zoo.score_tables import ScoreTable

ITEMS = 2000  # of the test data, by default

_WHOLE_MATRIX = 30  # classes whose matrix can be read
_PAIRS = 20  # that are confused most often
_LEAST_TIME = 0.005  # seconds that are shown
_TIMED_BATCH, _TIMED_ITERATIONS, _SLOWEST = 16, 3, 12

_NOT_RUN = "The net wasn't run for this report."

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Classification:
    """How a net classifies its test data."""

    predictions: TestPredictions
    confusion: Confusion
    scores: tuple[ClassScores, ...]
    pairs: tuple[ConfusedPair, ...]
    is_whole: bool  # whether the matrix is shown

    @property
    def items(self) -> int:
        """How many items were tested."""
        return len(self.predictions.labels)


@dataclass(frozen=True)
class SlowLayers:
    """The layers that took longest, of so many, with a batch of some items."""

    layers: tuple[LayerTime, ...]
    total: int
    milliseconds: float  # of all layers together
    batch: int

    def share(self, layer: LayerTime) -> float:
        """Return the part of the time that a layer took."""
        return (layer.forward + layer.backward) / (self.milliseconds or 1.0)


@dataclass(frozen=True)
class StartOfRun:
    """A command, and what it ran with."""

    command: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class ReportContents:
    """All of a report. What has no answer is a sentence that says why, or None where there is nothing to ask."""

    name: str
    folder: str
    made: str
    is_finished: bool
    notes: tuple[str, ...]
    tiles: tuple[SummaryTile, ...]
    facts: tuple[Fact, ...]
    solver: tuple[Fact, ...]
    planned: tuple[PlannedFigure, ...]
    plan_reasons: tuple[str, ...]
    starts: tuple[StartOfRun, ...]
    drawing: str
    charts: tuple[Chart, ...]
    classification: Classification | str | None
    scores: tuple[ScoreTable, ...] | str
    filters: FirstFilters | str | None
    slow_layers: SlowLayers | str
    workers: tuple[WorkerSummary, ...]
    timeline: Timeline

    @property
    def has_predictions(self) -> bool:
        """Whether something is said of what the net predicts."""
        return self.classification is not None or bool(self.scores)

    @property
    def worker_times(self) -> list[str]:
        """The activities that any worker's time went into."""
        names = [{name for name, time in _times_by_activity(worker) if time >= _LEAST_TIME} for worker in self.workers]
        return [name for name, _ in _times_by_activity(self.workers[0]) if any(name in there for there in names)]

    def times_of(self, worker: WorkerSummary) -> list[tuple[str, float]]:
        """Return a worker's seconds by those activities."""
        return [(name, time) for name, time in _times_by_activity(worker) if name in self.worker_times]

    def shares_of(self, worker: WorkerSummary) -> list[tuple[Activity, float]]:
        """Return the parts of a worker's time, without what is no activity, and what ran beside computing."""
        total = worker.times.total or 1.0
        known = {activity.value: activity for activity in Activity}
        return [(known[name], time / total) for name, time in vars(worker.times).items() if name in known and time]


def _times_by_activity(worker: WorkerSummary) -> list[tuple[str, float]]:
    return [*vars(worker.times).items(), *vars(worker.beside).items()]


def contents_of(recorded: RecordedRun, items: int = ITEMS) -> ReportContents:
    """Return the contents of a run's report. With no items, nothing of the net is run."""
    model, problem = open_trained(recorded.run)
    weights = _weights_of(recorded, model)
    tested = _NOT_RUN if not items else weights if isinstance(weights, str) else TestedModel(recorded.run, weights)
    unopened = (f"the data can't be opened here, so shapes are guesses: {problem}",) if problem else ()
    contents = ReportContents(
        name=recorded.name,
        folder=str(recorded.folder.resolve()),
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        is_finished=recorded.is_finished,
        notes=(*recorded.notes, *unopened),
        tiles=tuple(tiles_of(recorded)),
        facts=tuple(training_facts(recorded)),
        solver=tuple(solver_facts(recorded.run.solver.param)),
        planned=tuple(planned_figures(recorded)),
        plan_reasons=() if recorded.plan is None else recorded.plan.reasons,
        starts=tuple(StartOfRun(command_of(start), tuple(start_facts(start))) for start in recorded.starts),
        drawing=svg_of(picture_of(boxes_of(model, Phase.TRAIN))),
        charts=tuple(_charts_of(recorded)),
        classification=_answer(tested, lambda tested: _classification(tested, items)),
        scores=_answer(tested, lambda tested: tested.scores(items)),
        filters=_answer(weights, lambda weights: first_filters(model, weights.weights)),
        slow_layers=_slow_layers(model, items),
        workers=recorded.summary.workers,
        timeline=timeline_of(recorded.records),
    )
    if isinstance(tested, TestedModel):
        tested.close()
    return contents


def _weights_of(recorded: RecordedRun, model: Model) -> Model | str:
    """Return the weights that the run has learned, or why there are none."""
    path = recorded.weights
    if path is None:
        return "There are no weights yet: neither a model nor a snapshot."
    return _answer(path, lambda path: open_weights(path, model))


def _answer(asked: Asked | str, question: Callable[[Asked], Answer]) -> Answer | str:
    """Return what is told by what is asked, or why it can't be told."""
    if isinstance(asked, str):
        return asked
    try:
        return question(asked)
    except CaffeError as problem:
        return f"This can't be told: {problem}"


def _classification(tested: TestedModel, items: int) -> Classification | None:
    predictions = tested.predictions(items)
    if predictions is None:
        return None
    confusion = Confusion.of(predictions.labels, predictions.predicted, predictions.classes)
    scores, pairs = tuple(confusion.scores()), tuple(confusion.worst_pairs(_PAIRS))
    return Classification(predictions, confusion, scores, pairs, len(confusion.classes) <= _WHOLE_MATRIX)


def _slow_layers(model: Model, items: int) -> SlowLayers | str:
    if not items:
        return _NOT_RUN
    try:
        times = time_net(model, batch=_TIMED_BATCH, iterations=_TIMED_ITERATIONS)
    except CaffeError as problem:
        return f"This can't be told: {problem}"
    layers = sorted(times.layers, key=lambda layer: -(layer.forward + layer.backward))
    total = sum(layer.forward + layer.backward for layer in layers)
    return SlowLayers(tuple(layers[:_SLOWEST]), len(layers), total, _TIMED_BATCH)


def _charts_of(recorded: RecordedRun) -> list[Chart]:
    """Return the curves of losses, test values, learning rate, and of the workers' distances from their mean."""
    curves = RunCurves(recorded.records)
    tests = curves_of_tests(recorded)
    losses = {f"test {name}": points for name, points in tests.items() if less_is_better(name)}
    scores = {f"test {name}": points for name, points in tests.items() if not less_is_better(name)}
    training = recorded.logged("train", "loss")
    over_time = {name: curves.at_times(points) for name, points in scores.items()}
    distances: dict[str, Points] = {"mean": {}, "largest": {}}
    for (iteration, _), values in curves.divergences().items():
        distances["mean"][iteration], distances["largest"][iteration] = fmean(values), max(values)
    charts = [
        loss_chart("Loss", {**({"training loss": training} if training else {}), **losses}),
        score_chart("Test", scores),
        score_chart("Test over time", over_time, "second"),
        loss_chart("Learning rate", {"rate": recorded.logged("train", "rate")}),
        loss_chart("Distance of workers from their mean", distances),
    ]
    return [chart for chart in charts if chart is not None]


def curves_of_tests(recorded: RecordedRun) -> dict[str, Points]:
    """Return the values of tests by the names of outputs, those of rounds and those that were logged."""
    by_moment = RunCurves(recorded.records).tests()
    curves: dict[str, Points] = {
        name: {iteration: value for (iteration, _), value in curve.items()} for name, curve in by_moment.items()
    }
    for event in recorded.events:
        match event:
            case {"event": "test", "iteration": int(iteration), "outputs": dict(outputs), "net": 0}:
                for name, value in outputs.items():
                    if isinstance(value, (int, float)):
                        curves.setdefault(name, {})[iteration] = float(value)
    return curves
