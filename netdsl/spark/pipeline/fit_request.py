"""A request to train a net on the rows of a DataFrame or an RDD, and the run that is made of it.

The run has its data on storage that all machines share.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyspark import RDD
from pyspark.sql import DataFrame
from pyspark.sql.functions import col

from caffe_proto import caffe_pb2 as pb
from netdsl.distributed.run import Run
from netdsl.errors import DataError
from netdsl.model import store_for_workers
from netdsl.net.build import build
from netdsl.net.graph import Phase, connect, filter_layers
from netdsl.prediction.invalid_rows import InvalidRows
from netdsl.prediction.net_inputs import NetInput, Preprocess, inputs_of
from netdsl.solver.nets import test_nets, train_net
from netdsl.spark.tables.store import StoredTable, store_rows
from netdsl.tables.table import Table

Data = DataFrame | RDD[Any]

_log = logging.getLogger(__name__)

_DISPLAYS = 50  # of the loss in a run, if the settings don't say when


@dataclass(frozen=True)
class FitRequest:
    """A run, whose settings contain their nets, with the columns of its blobs."""

    run: Run
    bindings: Mapping[str, str]
    workers: int | None = None  # if unset, one for each of Spark's slots
    folder: Path | None = None  # of the run; if unset a new one, which is removed afterwards
    preprocess: Preprocess | None = None
    shuffle: bool = True
    validation: str = ""  # the column that is true for rows to test on
    invalid: InvalidRows = InvalidRows.ERROR  # rows with values that are null or not finite; none is learned from


def plan_fit(request: FitRequest, run: Run, data: Data, folder: Path) -> Run:
    """The run with its data in a folder; data that an earlier run wrote there are used again."""
    solver = _with_defaults(request, folder)
    weights = store_for_workers(request.run.weights, train_net(solver), folder)
    training, testing = _split(data, request.validation)
    tables = {Phase.TRAIN: _training(request, solver, training, folder)}
    if testing is not None:
        tables[Phase.TEST] = _testing(request, solver, testing, folder)
    return replace(run, solver=solver, weights=weights, tables=tables).settled()


def _with_defaults(request: FitRequest, folder: Path) -> pb.SolverParameter:
    """The settings with defaults for fields that aren't set. Without rows for validation there are no tests."""
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
    stored = _store(request, _inputs(train_net(solver), request), data, folder / "data" / "train")
    return Table(stored.source, shuffle=request.shuffle)


def _testing(request: FitRequest, solver: pb.SolverParameter, data: Data, folder: Path) -> Table:
    """The table to test on. Unset settings for tests are set so that all rows are tested at the end."""
    test_iter = list(solver.test_iter)
    solver.test_interval = solver.test_interval or solver.max_iter
    solver.test_iter[:] = test_iter or [1]
    inputs = _inputs(test_nets(solver)[0], request)
    stored = _store(request, inputs, data, folder / "data" / "test")
    solver.test_iter[:] = test_iter or [math.ceil(stored.rows / inputs[0].batch)]
    return Table(stored.source)


def _store(request: FitRequest, inputs: Sequence[NetInput], data: Data, folder: Path) -> StoredTable:
    blobs = [net_input.blob for net_input in inputs]
    stored = store_rows(data, folder, blobs, request.preprocess, request.invalid)
    if stored.skipped:
        _log.warning(
            "%d of %d rows have a value that is null or not finite, and are left out of fit (handleInvalid='%s')",
            stored.skipped,
            stored.rows + stored.skipped,
            request.invalid.value,
        )
    return stored


def _inputs(net: pb.NetParameter, request: FitRequest) -> list[NetInput]:
    """The inputs of a net; an error if there are none, or if a binding names another blob."""
    outside = {top: None for layer in net.layer if not layer.bottom for top in layer.top}
    for name in request.bindings:
        if name not in outside:
            raise DataError(f"no blob '{name}' comes from outside; those that do are {', '.join(outside) or 'none'}")
    inputs = inputs_of(build(connect(filter_layers(net, net.state))), request.bindings)
    if not inputs:
        raise DataError("no blob of the net comes from outside; it needs an RDDLayer for each column")
    return inputs
