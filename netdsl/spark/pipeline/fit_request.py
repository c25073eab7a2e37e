"""A request to train a net on the rows of a DataFrame or an RDD, and the run that it becomes.

The run's data are then on storage that all machines share.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyspark import RDD
from pyspark.sql import DataFrame
from pyspark.sql.functions import col

from caffe_proto import caffe_pb2 as pb
from netdsl.distributed.run import Run
from netdsl.errors import DataError
from netdsl.layers import LAYERS
from netdsl.model import store_for_workers
from netdsl.net.build import build
from netdsl.net.graph import Phase, connect, filtered
from netdsl.prediction.net_inputs import NetInput, Preprocess, inputs_of
from netdsl.solver.nets import test_nets, train_net
from netdsl.spark.tables.store import store_rows
from netdsl.tables.table import Table

Data = DataFrame | RDD[Any]

_DISPLAYS = 50  # of a loss, where the settings don't say when


@dataclass(frozen=True)
class FitRequest:
    """What to train and how, whose settings have their nets in them, and which columns are for which blobs."""

    run: Run
    bindings: Mapping[str, str]
    workers: int | None = None  # if unset, as many as Spark has slots for
    folder: Path | None = None  # of the run; if unset a new one, which is gone afterwards
    preprocess: Preprocess | None = None
    shuffle: bool = True
    validation: str = ""  # the column that is true for rows to test on


def plan_fit(request: FitRequest, run: Run, data: Data, folder: Path) -> Run:
    """The run, with its data in a folder; what a run wrote there before is used again."""
    solver = _with_defaults(request, folder)
    weights = store_for_workers(request.run.weights, train_net(solver), folder)
    training, testing = _split(data, request.validation)
    tables = {Phase.TRAIN: _training(request, solver, training, folder)}
    if testing is not None:
        tables[Phase.TEST] = _testing(request, solver, testing, folder)
    return replace(run, solver=solver, weights=weights, tables=tables).settled()


def _with_defaults(request: FitRequest, folder: Path) -> pb.SolverParameter:
    """The settings with what they leave open. Tests are of rows for validation only, so without any there are none."""
    solver = pb.SolverParameter()
    solver.CopyFrom(request.run.solver)
    if not solver.HasField("display"):
        solver.display = max(1, solver.max_iter // _DISPLAYS)
    if not solver.HasField("test_initialization"):
        solver.test_initialization = False
    if not request.validation:
        for name in ("test_iter", "test_interval", "test_net_param", "test_state"):
            solver.ClearField(name)
    solver.snapshot_prefix, solver.snapshot_after_train = str(folder / "snapshot"), False
    return solver


def _split(data: Data, validation: str) -> tuple[Data, Data | None]:
    """The rows to learn from, and those to test on."""
    if not validation:
        return data, None
    if not isinstance(data, DataFrame) or validation not in data.columns:
        raise DataError(f"there is no column '{validation}', which should say which rows are for validation")
    is_chosen = col(f"`{validation}`").cast("boolean")
    return data.where(~is_chosen), data.where(is_chosen)


def _training(request: FitRequest, solver: pb.SolverParameter, data: Data, folder: Path) -> Table:
    inputs = _inputs(train_net(solver), request)
    stored = store_rows(data, folder / "data" / "train", [each.blob for each in inputs], request.preprocess)
    return Table(stored.source, shuffle=request.shuffle)


def _testing(request: FitRequest, solver: pb.SolverParameter, data: Data, folder: Path) -> Table:
    """The table to test on. The settings get what tests need: by default all rows are tested at the end."""
    test_iter = list(solver.test_iter)
    solver.test_interval = solver.test_interval or solver.max_iter
    solver.test_iter[:] = test_iter or [1]
    inputs = _inputs(test_nets(solver)[0], request)
    stored = store_rows(data, folder / "data" / "test", [each.blob for each in inputs], request.preprocess)
    solver.test_iter[:] = test_iter or [math.ceil(stored.rows / inputs[0].batch)]
    return Table(stored.source)


def _inputs(net: pb.NetParameter, request: FitRequest) -> list[NetInput]:
    """The blobs that a net takes from outside."""
    outside = {top: None for layer in net.layer if not layer.bottom for top in layer.top}
    for name in request.bindings:
        if name not in outside:
            raise DataError(f"no blob '{name}' comes from outside; those that do are {', '.join(outside) or 'none'}")
    inputs = inputs_of(build(connect(filtered(net, net.state)), LAYERS), request.bindings)
    if not inputs:
        raise DataError("no blob of the net comes from outside; it needs an RDDLayer for each column")
    return inputs
