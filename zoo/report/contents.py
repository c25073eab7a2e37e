"""The contents of a report, with a section for each question of a reader. Sections without an answer give the
reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import fmean
from typing import TypeVar

from caffe_proto.errors import CaffeError
from netdsl.charts import Chart, less_is_better, loss_chart, score_chart
from netdsl.distributed.run import Run
from netdsl.distributed.run_log import Activity
from netdsl.model.model import Model
from netdsl.model.opening import open_weights
from netdsl.net.graph import Phase
from netdsl.planner.timing import LayerTime, time_net
from zoo.accuracy import Baseline, MeasuredAccuracy, baselines_of
from zoo.drawing.net_boxes import boxes_of
from zoo.drawing.net_drawing import drawing_of
from zoo.drawing.svg import svg_of
from zoo.logs.summary import RunCurves, WorkerSummary
from zoo.report.facts import (
    Fact,
    PlannedFigure,
    SummaryTile,
    command_of,
    data_of,
    planned_figures,
    solver_facts,
    start_facts,
    tiles_of,
    training_facts,
)
from zoo.report.pictures import FirstFilters, first_filters
from zoo.report.predictions import (
    ClassQuality,
    ConfusedPair,
    Confusion,
    TestedModel,
    TestPredictions,
    open_trained,
)
from zoo.report.recorded_run import Points, RecordedRun
from zoo.report.timeline import Timeline, timeline_of
from zoo.report.tuned_model import TunedModel
from zoo.score_tables import ScoreTable

ITEMS = 2000  # number of test items, by default

_WHOLE_MATRIX = 30  # maximum number of classes in a readable matrix
_PAIRS = 20  # number of the most confused pairs
_LEAST_TIME = 0.005  # minimum time in seconds to show
_TIMED_BATCH, _TIMED_ITERATIONS, _SLOWEST = 16, 3, 12

_NOT_RUN = "The net wasn't run for this report."

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Classification:
    """The results of classifying the test data."""

    predictions: TestPredictions
    confusion: Confusion
    scores: tuple[ClassQuality, ...]
    pairs: tuple[ConfusedPair, ...]
    is_whole: bool  # whether the matrix is shown
    measured: MeasuredAccuracy | None  # None without items

    @property
    def items(self) -> int:
        """The number of tested items."""
        return len(self.predictions.labels)


@dataclass(frozen=True)
class SlowLayers:
    """The slowest layers, the number of all layers, and the batch size."""

    layers: tuple[LayerTime, ...]
    total: int
    milliseconds: float  # of all layers together
    batch: int

    def share(self, layer: LayerTime) -> float:
        """Return a layer's share of the total time."""
        return (layer.forward + layer.backward) / (self.milliseconds or 1.0)


@dataclass(frozen=True)
class StartOfRun:
    """A command, and the environment in which it ran."""

    command: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class ReportContents:
    """The contents of a report. A part without an answer is a sentence with the reason, or `None` if it doesn't
    apply."""

    title: str
    tuned: TunedModel | None
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
        """Whether the report describes the net's predictions."""
        return self.classification is not None or bool(self.scores)

    @property
    def worker_times(self) -> list[str]:
        """The activities for which any worker spent time."""
        names = [{name for name, time in _times_by_activity(worker) if time >= _LEAST_TIME} for worker in self.workers]
        return [name for name, _ in _times_by_activity(self.workers[0]) if any(name in there for there in names)]

    def times_of(self, worker: WorkerSummary) -> list[tuple[str, float]]:
        """Return a worker's seconds, by these activities."""
        return [(name, time) for name, time in _times_by_activity(worker) if name in self.worker_times]

    def shares_of(self, worker: WorkerSummary) -> list[tuple[Activity, float]]:
        """Return the shares of a worker's time, without time outside activities, and without exchanges that overlapped
        with computing."""
        total = worker.times.total or 1.0
        known = {activity.value: activity for activity in Activity}
        return [(known[name], time / total) for name, time in vars(worker.times).items() if name in known and time]


def _times_by_activity(worker: WorkerSummary) -> list[tuple[str, float]]:
    return [*vars(worker.times).items(), *vars(worker.beside).items()]


def contents_of(recorded: RecordedRun, items: int = ITEMS) -> ReportContents:
    """Return the contents of a run's report. If `items` is 0, the net isn't run."""
    model, problem = open_trained(recorded.run)
    weights = _weights_of(recorded, model)
    tested = _NOT_RUN if not items else weights if isinstance(weights, str) else TestedModel(recorded.run, weights)
    unopened = (f"the data can't be opened here, so shapes are guesses: {problem}",) if problem else ()
    contents = ReportContents(
        title=recorded.name if recorded.tuned is None else recorded.tuned.title,
        tuned=recorded.tuned,
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
        drawing=svg_of(drawing_of(boxes_of(model, Phase.TRAIN))),
        charts=tuple(_charts_of(recorded)),
        classification=_answer(tested, lambda tested: _classification(recorded, tested, items)),
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
    """Return the model with the run's weights, or the reason why there are none."""
    if recorded.trained is not None:
        return recorded.trained
    path = recorded.weights
    if path is None:
        return "There are no weights yet: neither a model nor a snapshot."
    return _answer(path, lambda path: open_weights(path, model))


def _answer(asked: Asked | str, question: Callable[[Asked], Answer]) -> Answer | str:
    """Return the answer, or the reason why there is none. If the argument is already a reason, return it."""
    if isinstance(asked, str):
        return asked
    try:
        return question(asked)
    except CaffeError as problem:
        return f"Not available: {problem}"


def _classification(recorded: RecordedRun, tested: TestedModel, items: int) -> Classification | None:
    predictions = tested.predictions(items)
    if predictions is None:
        return None
    confusion = Confusion.of(predictions.labels, predictions.predicted, predictions.classes)
    scores, pairs = tuple(confusion.scores()), tuple(confusion.worst_pairs(_PAIRS))
    measured = None
    if confusion.accuracy is not None:
        baselines = _baselines(recorded.run) if recorded.baselines is None else recorded.baselines
        count = len(predictions.labels)
        more_items = "--items" if count < predictions.total else "--test-data"
        measured = MeasuredAccuracy.of(confusion.accuracy, count, baselines, more_items)
    is_whole = len(confusion.classes) <= _WHOLE_MATRIX
    return Classification(predictions, confusion, scores, pairs, is_whole, measured)


def _baselines(run: Run) -> list[Baseline]:
    train, tests = data_of(run, Phase.TRAIN), data_of(run, Phase.TEST)
    return baselines_of(train, tests) if train is not None and tests is not None else []


def _slow_layers(model: Model, items: int) -> SlowLayers | str:
    if not items:
        return _NOT_RUN
    try:
        times = time_net(model, batch=_TIMED_BATCH, iterations=_TIMED_ITERATIONS)
    except CaffeError as problem:
        return f"Not available: {problem}"
    layers = sorted(times.layers, key=lambda layer: -(layer.forward + layer.backward))
    total = sum(layer.forward + layer.backward for layer in layers)
    return SlowLayers(tuple(layers[:_SLOWEST]), len(layers), total, _TIMED_BATCH)


def _charts_of(recorded: RecordedRun) -> list[Chart]:
    """Return charts of losses, test values, the learning rate, and the workers' distances from their mean. Values that
    can't vary have no chart."""
    curves = RunCurves(recorded.records)
    tests = curves_of_tests(recorded)
    losses = {f"test {name}": points for name, points in tests.items() if less_is_better(name)}
    scores = {f"test {name}": points for name, points in tests.items() if not less_is_better(name)}
    training = recorded.logged("train", "loss")
    over_time = {name: curves.at_times(points) for name, points in scores.items()}
    distances: dict[str, Points] = {"mean": {}, "largest": {}}
    for (iteration, _), values in curves.divergences().items():
        distances["mean"][iteration], distances["largest"][iteration] = fmean(values), max(values)
    if not any(distances["largest"].values()):  # a single worker, or workers that are equal after each iteration
        distances = {}
    has_fixed_rate = recorded.run.solver.param.lr_policy == "fixed"
    charts = [
        loss_chart("Loss", {**({"training loss": training} if training else {}), **losses}),
        score_chart("Test", scores),
        score_chart("Test over time", over_time, "second"),
        None if has_fixed_rate else loss_chart("Learning rate", {"rate": recorded.logged("train", "rate")}),
        loss_chart("Distance of workers from their mean", distances),
    ]
    return [chart for chart in charts if chart is not None]


def curves_of_tests(recorded: RecordedRun) -> dict[str, Points]:
    """Return the values of tests by output name, from rounds and from the log."""
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
