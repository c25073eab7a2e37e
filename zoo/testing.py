"""What a net with weights gives on test data, from its file to its outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

import torch

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.open_source import with_split
from netdsl.data.sources.source import DataSplit
from netdsl.errors import DataError, NetError
from netdsl.model import Model, copy_model, open_model
from netdsl.net.graph import filtered
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

BATCHES = 50  # that are tested where nothing says how many

Found = tuple[float, tuple[Output, ...]]


@dataclass(frozen=True)
class TestRequest:
    """A net with weights, tested on the data that it names or on others.

    Of a table all rows are taken once, unless a number of batches is given.
    """

    net: str
    weights: tuple[str, ...]
    data: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)  # of blobs
    batches: int | None = None
    level: int = 0
    stages: Sequence[str] = ()


def test(request: TestRequest, *, device: torch.device, backend: LocalBackend | SparkBackend = HERE) -> Found:
    """The mean loss and the mean outputs over batches, or over rows."""
    model = open_model(request.net, split_names(request.weights))
    model.net.state.MergeFrom(pb.NetState(phase=pb.TEST, level=request.level, stage=request.stages))
    model = replace(model, net=filtered(model.net, model.net.state))
    try:
        if isinstance(backend, SparkBackend):
            return _means(model.net, _on_spark(request, model, backend))
        table = table_of(request.data) if request.data is not None and request.batches is None else None
        if table is not None:
            return _means(model.net, _here(request, model, TableFiles(*table), device))
    except NetError as problem:
        raise type(problem)(f"{request.net}: {problem}") from None
    return _batches(request, model, device)


def _batches(request: TestRequest, model: Model, device: torch.device) -> Found:
    """Batches as the net takes them from its data, which begin again at their end."""
    table = None if request.data is None else _fed(model.net, request.data, request.columns)
    with closing(ModuleNet(model.net, Compute(device), values=table)) as running:
        copy_model(model, running.built)
        found = average_batches(running, request.batches or BATCHES)
    assert found is not None  # nobody interrupts it
    return found


def _fed(net: pb.NetParameter, data: str, columns: Mapping[str, str]) -> Table | None:
    """Let data layers read another source; where there are none, its rows are for the net's inputs."""
    source = with_split(data, DataSplit.TEST)
    reading = [layer for layer in net.layer if layer.HasField("data_param")]
    for layer in reading:
        layer.data_param.source = source
    if reading and columns:
        raise DataError(f"{data}: data layers take its arrays in their order; name no columns")
    return None if reading else Table(source, columns)


def _here(request: TestRequest, model: Model, table: TableFiles, device: torch.device) -> RowScore:
    inputs = _inputs(request, model.net, table.schema.names)
    scorer = Scorer(infer_shapes(model.net, table.first(), inputs), model.weights, request.columns, device)
    return scorer.score(table.batches(scorer.batch), str(request.data))


def _on_spark(request: TestRequest, model: Model, backend: SparkBackend) -> RowScore:
    if request.data is None or request.batches is not None:
        raise DataError("on Spark all rows of a table are tested once; name it with --data, and give no --iterations")
    path = parquet_of(request.data)
    with backend.session() as session:
        from netdsl.spark.pipeline import scoring  # only now it is known that Spark is there
        from netdsl.spark.tables import parquet

        frame = parquet.read(session, path)
        inputs = _inputs(request, model.net, frame.columns)
        net = infer_shapes(model.net, parquet.sample(frame, [each.blob.column for each in inputs]), inputs)
        return scoring.score_rows(frame, net, model.weights, request.columns)


def _inputs(request: TestRequest, net: pb.NetParameter, names: Sequence[str]) -> list[NetInput]:
    """What the net needs of a table, which must have it."""
    inputs = scoring_inputs(build_for_scoring(net), request.columns)
    check_columns(names, [each.blob for each in inputs], COLUMN)
    return inputs


def _means(net: pb.NetParameter, score: RowScore) -> Found:
    loss, outputs = score.means()
    module = NetModule(build_for_scoring(net))
    weights = {name: module.losses.get(edge, 0.0) for name, edge in module.outputs.items()}
    return loss, tuple(Output(name, values, weights[name]) for name, values in sorted(outputs.items()))
