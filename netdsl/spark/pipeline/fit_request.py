"""From settings and data to the plan of a run, whose data are then on storage that all machines share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark import RDD
from pyspark.sql import DataFrame
from pyspark.sql.functions import col

from caffe_proto import caffe_pb2 as pb
from netdsl.distributed.plan import Plan, settled
from netdsl.distributed.strategies.strategy import Strategy
from netdsl.errors import DataError
from netdsl.layers import LAYERS
from netdsl.model import store_for_workers
from netdsl.net.build import build
from netdsl.net.graph import Phase, connect, filtered
from netdsl.prediction.blobs import NetInput, Preprocess, inputs_of
from netdsl.solver.nets import test_nets, train_net
from netdsl.spark.tables.store import store_rows
from netdsl.spark.workers.transport import Transport
from netdsl.tables.table import Table

Data = DataFrame | RDD[Any]

_DISPLAYS = 50  # of a loss, where the settings don't say when


@dataclass(frozen=True)
class FitRequest:
    """What to train and how; the settings have their nets in them."""

    param: pb.SolverParameter
    strategy: Strategy
    bindings: Mapping[str, str]
    workers: int | None = None  # as many as Spark has slots for
    transport: Transport | None = None
    folder: Path | None = None  # a new one, which is gone afterwards
    weights: tuple[str, ...] = ()
    preprocess: Preprocess | None = None
    shuffle: bool = True
    validation: str = ""  # the column that is true for rows to test on


def plan_fit(wish: FitRequest, data: Data, run: Path, size: int, threads: int) -> Plan:
    """The plan for so many workers; what a run wrote into its folder before is used again."""
    param = _settled(wish, run)
    weights = store_for_workers(wish.weights, train_net(param), run)
    training, testing = _split(data, wish.validation)
    tables = {Phase.TRAIN: _training(wish, param, training, run)}
    if testing is not None:
        tables[Phase.TEST] = _testing(wish, param, testing, run)
    return settled(Plan(param, wish.strategy, size, weights=weights, threads=threads, tables=tables))


def _settled(wish: FitRequest, run: Path) -> pb.SolverParameter:
    """The settings with what they leave open. Tests are of rows for validation only, so without any there are none."""
    param = pb.SolverParameter()
    param.CopyFrom(wish.param)
    if not param.HasField("display"):
        param.display = max(1, param.max_iter // _DISPLAYS)
    if not param.HasField("test_initialization"):
        param.test_initialization = False
    if not wish.validation:
        for name in ("test_iter", "test_interval", "test_net_param", "test_state"):
            param.ClearField(name)
    param.snapshot_prefix, param.snapshot_after_train = str(run / "snapshot"), False
    return param


def _split(data: Data, validation: str) -> tuple[Data, Data | None]:
    """The rows to learn from, and those to test on."""
    if not validation:
        return data, None
    if not isinstance(data, DataFrame) or validation not in data.columns:
        raise DataError(f"there is no column '{validation}', which should say which rows are for validation")
    chosen = col(f"`{validation}`").cast("boolean")
    return data.where(~chosen), data.where(chosen)


def _training(wish: FitRequest, param: pb.SolverParameter, data: Data, run: Path) -> Table:
    inputs = _inputs(train_net(param), wish)
    found = store_rows(data, run / "data" / "train", [each.blob for each in inputs], wish.preprocess)
    return Table(found.source, shuffle=wish.shuffle)


def _testing(wish: FitRequest, param: pb.SolverParameter, data: Data, run: Path) -> Table:
    """The settings get what tests need: by default all rows are tested at the end."""
    wanted = list(param.test_iter)
    param.test_interval = param.test_interval or param.max_iter
    param.test_iter[:] = wanted or [1]
    inputs = _inputs(test_nets(param)[0], wish)
    found = store_rows(data, run / "data" / "test", [each.blob for each in inputs], wish.preprocess)
    param.test_iter[:] = wanted or [math.ceil(found.rows / inputs[0].batch)]
    return Table(found.source)


def _inputs(net: pb.NetParameter, wish: FitRequest) -> list[NetInput]:
    """What a net takes from outside."""
    sources = {top: None for layer in net.layer if not layer.bottom for top in layer.top}
    for name in wish.bindings:
        if name not in sources:
            raise DataError(f"no blob '{name}' comes from outside; those that do are {', '.join(sources) or 'none'}")
    found = inputs_of(build(connect(filtered(net, net.state)), LAYERS), wish.bindings)
    if not found:
        raise DataError("no blob of the net comes from outside; it needs an RDDLayer for each column")
    return found
