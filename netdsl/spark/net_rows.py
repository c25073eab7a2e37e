"""The rows of DataFrames and RDDs for a net: stored where all machines see them, with a column for each input."""

from __future__ import annotations

import logging
import shutil
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark import RDD
from pyspark.sql import DataFrame, SparkSession

from netdsl.data.tables.table import Table
from netdsl.errors import DataError
from netdsl.model.model import Model
from netdsl.net.build import warn_of_doubts
from netdsl.net.graph import Phase
from netdsl.prediction.invalid_rows import InvalidRows
from netdsl.prediction.net_inputs import NetInput, Preprocess, inputs_from_outside
from netdsl.spark.backend import new_folder
from netdsl.spark.cluster import run_in_this_python
from netdsl.spark.tables.store import BINDINGS, RENAMING, StoredTable, store_rows

Data = DataFrame | RDD[Any]
_log = logging.getLogger(__name__)


def session_of(data: object) -> SparkSession:
    """Return the session that data are of, or the one that there is."""
    return data.sparkSession if isinstance(data, DataFrame) else SparkSession.builder.getOrCreate()


def inputs_from_rows(model: Model, bindings: Mapping[str, str]) -> list[NetInput]:
    """Return the inputs of a net in its state; an error if there are none, or if a binding names another blob."""
    outside = {top: None for layer in model.net.layer if not layer.bottom for top in layer.top}
    for name in bindings:
        if name not in outside:
            raise DataError(f"no blob '{name}' comes from outside; those that do are {', '.join(outside) or 'none'}")
    phase = Phase(model.net.state.phase)
    warn_of_doubts(model.settled(phase).built)  # and errors of layers come before the rows are stored
    return inputs_from_outside(model.graph(phase), bindings)


def store_inputs(
    inputs: Sequence[NetInput],
    data: Data,
    folder: Path,
    preprocess: Preprocess | None = None,
    invalid: InvalidRows = InvalidRows.ERROR,
    hint: str = BINDINGS,
) -> StoredTable:
    """Write the inputs' columns into a folder; `hint` says how one names another column."""
    stored = store_rows(data, folder, [net_input.blob for net_input in inputs], preprocess, invalid, hint)
    if stored.skipped:
        _log.warning(
            "%d of %d rows have a value that is null or not finite, and are left out of fit (handleInvalid='%s')",
            stored.skipped,
            stored.rows + stored.skipped,
            invalid.value,
        )
    return stored


class RowsInFolder:
    """Rows that are stored in a folder, as a table, until nobody has this object any more."""

    def __init__(self, source: str, folder: Path) -> None:
        self.table = Table(source)
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)


def store_columns(data: Data, inputs: Sequence[NetInput], folder: Path) -> str:
    """Store the inputs' columns in a folder that all machines see; returns the source that they are now.

    The rows are those of a program that names no bindings. A DataError for data that have no rows.
    """
    check_rows(data)
    run_in_this_python(session_of(data).sparkContext)
    return store_inputs(inputs, data, folder, hint=RENAMING).source


def store_for_net(data: Data, model: Model) -> RowsInFolder:
    """Return the rows that a net of this process trains or tests on; a DataError for what has no rows."""
    check_rows(data)
    inputs = inputs_from_rows(model, {})
    folder = new_folder(session_of(data))
    try:
        return RowsInFolder(store_columns(data, inputs, folder / "rows"), folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def check_rows(data: object) -> None:
    """Raise a DataError unless data are a DataFrame or an RDD."""
    if not isinstance(data, DataFrame | RDD):
        raise DataError(f"a {type(data).__name__} of Spark's has no rows to store; give a DataFrame or an RDD")
