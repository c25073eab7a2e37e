"""Tests of a net with weights: its mean loss, outputs and scores, on its own data or on other data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from converters.compare import open_onnx_outputs
from netdsl.data.sources.open_source import parse_source
from netdsl.data.sources.source_name import Content, SourceName
from netdsl.data.sources.table_files import TableFiles, TableFormat, table_of
from netdsl.data.sources.tables import class_names_of_table
from netdsl.data.tables.table import check_columns
from netdsl.errors import DataError, NetError, WeightsError
from netdsl.model.data_shapes import read_data
from netdsl.model.deploy.deploy_net import deploy_model
from netdsl.model.deploy.deployed_part import DeployedPart
from netdsl.model.model import Model
from netdsl.model.opening import copy_model, match_names, open_model
from netdsl.model.weights.files import learned_layers
from netdsl.net.build import Built, warn_of_doubts
from netdsl.net.graph import Phase
from netdsl.net.learning import losses_of
from netdsl.net.module import NetModule
from netdsl.prediction.infer_shapes import infer_shapes
from netdsl.prediction.net_inputs import NetInput
from netdsl.prediction.scoring import RowScore, Scorer, scoring_inputs
from netdsl.solver.evaluation import average_batches, gather_scores
from netdsl.solver.events import BatchTested, DataOpened, Event, Listener, Notice, Output, WeightsLoaded, as_numbers
from netdsl.solver.opened_nets import data_events, net_created, opened_data
from netdsl.solver.settings import split_names
from netdsl.solver.trainable_net import Compute, ModuleNet
from netdsl.spark.backend import SparkBackend
from netdsl.training.backends import LocalBackend
from netdsl.training.data_sources import are_pictures, read_test_data
from zoo.accuracy import MeasuredAccuracy, count_answers
from zoo.answers.answerer import Answerer, AnswererRequest
from zoo.answers.cascade import open_answerer
from zoo.captioned_testing import captioned_images, score_captions
from zoo.marked_testing import MarkedTest
from zoo.names import classes_of_model, problem_of_model
from zoo.requests.events import Listen, work
from zoo.requests.request import answers
from zoo.requests.results import LEFT_OUT, KnowsData
from zoo.requests.using import TEST_BATCHES, TestRequest
from zoo.score_tables import ScoreTable, score_tables
from zoo.table_columns import COLUMN, parquet_of, table_place


@dataclass(frozen=True)
class TestResult(KnowsData):
    """The mean loss and outputs over batches or rows, the scores of the whole set, and a report on the weights."""

    __test__ = False  # keeps pytest from collecting the class

    says_too: ClassVar[tuple[str, ...]] = ("assumed", "outputs")

    loss: float | None  # None for images with marked objects or captions, where only answers are scored
    blobs: tuple[Output, ...] = field(metadata=LEFT_OUT)
    scores: tuple[ScoreTable, ...] = ()
    measured: MeasuredAccuracy | None = None  # of a net that classifies items, unless Spark tests it
    weights: str = ""

    @property
    def outputs(self) -> Mapping[str, float]:
        """The mean outputs by name."""
        return as_numbers(self.blobs)


@answers(TestRequest)
def test(request: TestRequest, listen: Listen) -> TestResult:
    """Return the mean loss and outputs over batches or rows. For nets that detect or segment, return their scores too.

    Spark tasks compute no such scores. Without a device, they use the GPUs that Spark assigns to them. `listen`
    receives events about the data and the weights, and about nets and batches that run here.
    """
    reports = list[str]()
    rows = request.data is not None and request.iterations is None  # these are tested in batches that send no events
    with work(listen, "testing", None if rows else request.iterations or TEST_BATCHES) as advance:

        def hear(event: object) -> None:
            if isinstance(event, WeightsLoaded):
                reports.append(str(event.report))
            elif isinstance(event, BatchTested):
                advance()
            listen(event)

        return replace(_tested(request, hear), weights=next(iter(reports), ""))


def _tested(request: TestRequest, listen: Listen) -> TestResult:
    """Return the results of the test, whichever process runs it."""
    backend, device = table_place(request, listen)
    weights = tuple(split_names(request.weights))
    opened = open_model(request.net, weights, dialect=request.dialect, level=request.level, stages=request.stages)
    model = opened.only(Phase.TEST)
    source = None if request.data is None else parse_source(request.data)
    if source is not None and source.content is Content.CAPTIONS:
        _check_once(request, backend)
        return _on_captions(request, source, device, listen)
    if source is not None and are_pictures(source, model.net):
        _check_once(request, backend)
        return _on_pictures(request, source, device, listen)
    try:
        if isinstance(backend, SparkBackend):
            return _on_spark(request, model, device, backend, listen)
        place = device or torch.device("cpu")
        in_batches = request.iterations is not None or request.onnx is not None
        table = None if request.data is None or in_batches else table_of(request.data)
        if table is not None:
            return _on_this_machine(request, model, table, place, listen)
        deployed = None if request.onnx is None else deploy_model(opened)
        return _test_batches(request, model, place, listen, deployed)
    except NetError as problem:
        text = problem_of_model(request.net, problem, weights)
        raise type(problem)(f"{text}{_trained_net(request, model)}") from None


def _check_once(request: TestRequest, backend: LocalBackend | SparkBackend) -> None:
    """Raise a DataError for options that don't apply to a test in which this machine answers each image once."""
    chosen = {
        "--iterations": request.iterations is not None,
        "--column": bool(request.columns),
        "--backend spark": isinstance(backend, SparkBackend),
        "--with": request.onnx is not None,
    }
    if names := ", ".join(name for name, is_set in chosen.items() if is_set):
        raise DataError(f"{request.data}: all images are tested once, on this machine; remove {names}")


def _answerer(
    request: TestRequest, device: torch.device | None, listen: Listener, classes: int | None = None
) -> Answerer:
    weights = tuple(split_names(request.weights))
    asked = AnswererRequest(request.net, weights, device or "cpu", classes=classes, dialect=request.dialect)
    return open_answerer(asked, listen)


def _on_captions(request: TestRequest, data: SourceName, device: torch.device | None, listen: Listener) -> TestResult:
    answerer, images = _answerer(request, device, listen), captioned_images(data)
    listen(DataOpened(str(request.data), len(images), (), tests=True))
    scores = enumerate(score_captions(answerer, images), 1)
    outputs = tuple(Output(f"BLEU-{size}", (score,), is_score=True) for size, score in scores)
    return TestResult(None, outputs, data=answerer.data)


def _on_pictures(request: TestRequest, data: SourceName, device: torch.device | None, listen: Listener) -> TestResult:
    marked = data.open_marked()
    answerer = _answerer(request, device, listen, len(marked.classes))
    listen(DataOpened(str(request.data), len(marked), tuple(marked.classes), tests=True))
    return TestResult(None, (), (MarkedTest.of(answerer, marked, listen).table(),), data=answerer.data)


def _trained_net(request: TestRequest, model: Model) -> str:
    """Return a clause to add to an error about a weights file's own net, which is the training net."""
    if Path(request.net) not in model.sources.values():
        return ""
    return (
        "; this file contains trained weights and their training net, so name the test net's prototxt as NET and "
        "this file in --weights"
    )


def _check_weights(request: TestRequest, model: Model, built: Built, listen: Listener) -> None:
    """Report which layers got weights. Raises an error if a layer got none, since a score of random weights means
    nothing."""
    report = match_names(model, built)
    if report.missing and not (report.matched and request.partial):
        raise WeightsError(f"{report}; name files with the weights of all layers with --weights")
    listen(WeightsLoaded(model.files, report))


def _test_batches(
    request: TestRequest, model: Model, device: torch.device, listen: Listener, deployed: Model | None
) -> TestResult:
    """Test on batches of the data. After the last item, reading starts again at the first. An ONNX model computes the
    outputs of a deployed model."""
    table = None if request.data is None else read_test_data(model.net, request.data, request.columns)
    with closing(ModuleNet.open(model, Compute(device), table)) as running:
        if deployed is not None:
            running = _with_onnx(running, str(request.onnx), deployed)
        listen(net_created(running.built, ""))
        if deployed is None or learned_layers(running.built):
            _check_weights(request, model, running.built, listen)
            copy_model(model, running.built)
        for event in data_events([running]):
            listen(event)
            _compare_names(request, event, listen)
        opened = opened_data(running)
        most = max((each.items for each in opened), default=None)
        with gather_scores(running.built) as scores, count_answers(running.built, most) as answers:
            means = average_batches(running, request.iterations or TEST_BATCHES, listen=listen)
        classes = next((each.classes for each in opened if each.classes), ()) or _model_names(request)
    assert means is not None  # a test can't be interrupted
    measured = answers.measured(classes, "--iterations" if most and answers.items < most else "--data")
    return TestResult(*means, score_tables(scores, classes), measured, data=read_data(running.built))


def _with_onnx(net: ModuleNet, file: str, deployed: Model) -> ModuleNet:
    """Return a net that reads the same batches, and in which an ONNX model computes the outputs of the deployed net."""
    part = DeployedPart.of(net.built, deployed.layers(Phase.TEST))
    session = open_onnx_outputs(file)
    if missing := sorted(part.names - set(session.outputs)):
        raise NetError(
            f"{file}: the model doesn't have the net's output '{missing[0]}', but {', '.join(session.outputs)}; export "
            "the whole net, without --decode and --prune-to"
        )
    blobs, device = net.built.graph.blobs, net.compute.device
    for edge in net.built.input_edges():
        lengths, shape = session.inputs.get(blobs[edge], []), net.built.shapes[edge]
        other = [each for each in zip(lengths, shape, strict=False) if isinstance(each[0], int) and each[0] != each[1]]
        if other:
            raise NetError(
                f"{file}: input '{blobs[edge]}' has shape {lengths}, but the test data have {list(shape)}; if it is a "
                f"model of this net, export it again with --batch {shape[0]}, or else name another model"
            )

    def next_batch() -> dict[int, Tensor]:
        edges = net.next_batch()
        outputs = session({blobs[edge]: values.cpu().numpy() for edge, values in edges.items()})
        return edges | part.values({name: torch.from_numpy(values).to(device) for name, values in outputs.items()})

    return ModuleNet(NetModule(part.rest()), next_batch, net.compute, net.feeds)


def _model_names(request: TestRequest) -> tuple[str, ...]:
    """Return the names of the model's classes."""
    return classes_of_model(request.net, request.weights)


def _compare_names(request: TestRequest, event: Event, listen: Listener) -> None:
    """Send a notice if the data and the model number a class differently."""
    if not isinstance(event, DataOpened) or not event.classes:
        return
    names = _model_names(request)
    for label, (name, learned) in enumerate(zip(event.classes, names, strict=False)):
        if name != learned:
            listen(Notice(f"{event.source}: label {label} is '{name}', but the net was trained with '{learned}'"))
            return


def _on_this_machine(
    request: TestRequest, model: Model, source: tuple[TableFormat, str], device: torch.device, listen: Listener
) -> TestResult:
    table = TableFiles(*source)
    items = infer_shapes(table.first(), _inputs(request, model, table.schema.names))
    model = model.with_items(items)
    _check_weights(request, model, model.settled(Phase.TEST).built, listen)
    classes = _report_rows(request, source[1], len(table), table.schema, listen)
    scorer = Scorer(model, request.columns, device)
    with gather_scores(scorer.built) as scores, count_answers(scorer.built) as answers:
        means = _means(model, scorer.score(table.batches(scorer.batch), str(request.data)))
    classes = classes or _model_names(request)
    measured = answers.measured(classes, "--data")
    return replace(means, scores=score_tables(scores, classes), measured=measured)


def _report_rows(request: TestRequest, path: str, rows: int, schema: Any, listen: Listener) -> tuple[str, ...]:
    """Report the table that is tested on. Returns the names of its classes."""
    columns = list(request.columns.values())
    classes = class_names_of_table(Path(path), schema, [*columns, *schema.names])
    opened = DataOpened(str(request.data), rows, classes, tests=True)
    listen(opened)
    _compare_names(request, opened, listen)
    return classes


def _on_spark(
    request: TestRequest, model: Model, device: torch.device | None, backend: SparkBackend, listen: Listener
) -> TestResult:
    built = model.settled(Phase.TEST).built
    warn_of_doubts(built)
    _check_weights(request, model, built, listen)
    if request.data is None or request.iterations is not None:
        raise DataError("Spark tests all rows of a table once; name the table with --data, and remove --iterations")
    path = parquet_of(request.data)
    with backend.session() as session:
        from netdsl.spark.pipeline.tasks import score_rows
        from netdsl.spark.tables import parquet

        frame = parquet.read(session, path)
        inputs = _inputs(request, model, frame.columns)
        _report_rows(request, path, parquet.count(frame), parquet.arrow_schema(session, frame), listen)
        rows = parquet.sample(frame, [net_input.blob.column for net_input in inputs])
        place = None if device is None else str(device)
        scored = model.with_items(infer_shapes(rows, inputs))
        score = score_rows(frame, scored, request.columns, place)
    return _means(scored, score)


def _inputs(request: TestRequest, model: Model, names: Sequence[str]) -> list[NetInput]:
    """Return the inputs of the net. Raises an error if the table lacks their columns."""
    inputs = scoring_inputs(model, request.columns)
    check_columns(names, [net_input.blob for net_input in inputs], COLUMN)
    return inputs


def _means(model: Model, score: RowScore) -> TestResult:
    loss, outputs = score.means()
    built = model.settled(Phase.TEST).built
    losses = losses_of(built)
    weights = {built.graph.blobs[edge]: losses.get(edge, 0.0) for edge in built.graph.outputs}
    means = tuple(Output(name, values, weights[name]) for name, values in sorted(outputs.items()))
    return TestResult(loss, means, data=read_data(built))
