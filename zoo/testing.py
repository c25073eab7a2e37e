"""Tests of a net with weights: its mean loss and outputs on its own data or on others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import in_file
from netdsl.data.sources.open_source import with_split
from netdsl.data.sources.source import DataSplit
from netdsl.errors import DataError, NetError
from netdsl.model import Model, copy_model, open_model
from netdsl.net.graph import filter_layers
from netdsl.net.module import NetModule
from netdsl.prediction.infer_shapes import infer_shapes
from netdsl.prediction.net_inputs import NetInput
from netdsl.prediction.scoring import RowScore, Scorer, build_for_scoring, scoring_inputs
from netdsl.solver.evaluation import average_batches
from netdsl.solver.events import Output
from netdsl.solver.module_net import Compute, ModuleNet
from netdsl.solver.nets import split_names
from netdsl.tables.binding import check_columns
from netdsl.tables.files import TableFiles, table_of
from netdsl.tables.table import Table
from zoo.backends import HERE, LocalBackend, SparkBackend
from zoo.predicting import COLUMN, parquet_of

BATCHES = 50  # the default number

TestResult = tuple[float, tuple[Output, ...]]


@dataclass(frozen=True)
class TestRequest:
    """A request to test a net with weights on the data that it names or on others.

    All rows of a table are taken once, unless a number of batches is set.
    """

    net: str
    weights: tuple[str, ...]
    data: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)  # of blobs
    batches: int | None = None
    level: int = 0
    stages: Sequence[str] = ()


def test(request: TestRequest, *, device: torch.device, backend: LocalBackend | SparkBackend = HERE) -> TestResult:
    """The mean loss and the mean outputs over batches, or over rows."""
    model = open_model(request.net, split_names(request.weights))
    model.net.state.MergeFrom(pb.NetState(phase=pb.TEST, level=request.level, stage=request.stages))
    model = replace(model, net=filter_layers(model.net, model.net.state))
    try:
        if isinstance(backend, SparkBackend):
            return _means(model.net, _on_spark(request, model, backend))
        table = table_of(request.data) if request.data is not None and request.batches is None else None
        if table is not None:
            return _means(model.net, _here(request, model, TableFiles(*table), device))
    except NetError as problem:
        raise type(problem)(in_file(request.net, problem)) from None
    return _test_batches(request, model, device)


def _test_batches(request: TestRequest, model: Model, device: torch.device) -> TestResult:
    """Test on batches of the data, which begin again at their end."""
    table = None if request.data is None else _with_source(model.net, request.data, request.columns)
    with closing(ModuleNet(model.net, Compute(device), values=table)) as running:
        copy_model(model, running.built)
        means = average_batches(running, request.batches or BATCHES)
    assert means is not None  # nothing interrupts it
    return means


def _with_source(net: pb.NetParameter, data: str, columns: Mapping[str, str]) -> Table | None:
    """Let data layers read another source; for a net without data layers, return it as a table for the inputs."""
    source = with_split(data, DataSplit.TEST)
    data_layers = [layer for layer in net.layer if layer.HasField("data_param")]
    for layer in data_layers:
        layer.data_param.source = source
    if data_layers and columns:
        raise DataError(f"{data}: data layers take its arrays in their order; name no columns")
    return None if data_layers else Table(source, columns)


def _here(request: TestRequest, model: Model, table: TableFiles, device: torch.device) -> RowScore:
    inputs = _inputs(request, model.net, table.schema.names)
    scorer = Scorer(infer_shapes(model.net, table.first(), inputs), model.weights, request.columns, device)
    return scorer.score(table.batches(scorer.batch), str(request.data))


def _on_spark(request: TestRequest, model: Model, backend: SparkBackend) -> RowScore:
    if request.data is None or request.batches is not None:
        raise DataError("on Spark all rows of a table are tested once; name it with --data, and give no --iterations")
    path = parquet_of(request.data)
    with backend.session() as session:
        from netdsl.spark.pipeline import scoring  # needs pyspark, which the session has checked
        from netdsl.spark.tables import parquet

        frame = parquet.read(session, path)
        inputs = _inputs(request, model.net, frame.columns)
        rows = parquet.sample(frame, [net_input.blob.column for net_input in inputs])
        net = infer_shapes(model.net, rows, inputs)
        return scoring.score_rows(frame, net, model.weights, request.columns)


def _inputs(request: TestRequest, net: pb.NetParameter, names: Sequence[str]) -> list[NetInput]:
    """The inputs of the net; an error if the table lacks their columns."""
    inputs = scoring_inputs(build_for_scoring(net), request.columns)
    check_columns(names, [net_input.blob for net_input in inputs], COLUMN)
    return inputs


def _means(net: pb.NetParameter, score: RowScore) -> TestResult:
    loss, outputs = score.means()
    module = NetModule(build_for_scoring(net))
    weights = {name: module.losses.get(edge, 0.0) for name, edge in module.outputs.items()}
    return loss, tuple(Output(name, values, weights[name]) for name, values in sorted(outputs.items()))
