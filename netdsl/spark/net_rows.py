"""The rows of DataFrames and RDDs for a net. They are stored in a folder, with a column for each input."""

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
from netdsl.spark.kinds import kind_of
from netdsl.spark.tables.store import BINDINGS, RENAMING, StoredTable, store_rows

Data = DataFrame | RDD[Any]
_log = logging.getLogger(__name__)


def session_of(data: object) -> SparkSession:
    """Return the session to which the data belong, or the active one."""
    return data.sparkSession if isinstance(data, DataFrame) else SparkSession.builder.getOrCreate()


def inputs_from_rows(model: Model, bindings: Mapping[str, str]) -> list[NetInput]:
    """Return the inputs of a net in its state. Raises an error if it has none, or if a binding names another blob."""
    outside = {top: None for layer in model.net.layer if not layer.bottom for top in layer.top}
    for name in bindings:
        if name not in outside:
            raise DataError(
                f"blob '{name}' isn't an input of the net; bind one of its inputs: {', '.join(outside) or 'none'}"
            )
    phase = Phase(model.net.state.phase)
    warn_of_doubts(model.settled(phase).built)  # this also raises errors of layers before the rows are stored
    return inputs_from_outside(model.graph(phase), bindings)


def store_inputs(
    inputs: Sequence[NetInput],
    data: Data,
    folder: Path,
    preprocess: Preprocess | None = None,
    invalid: InvalidRows = InvalidRows.ERROR,
    hint: str = BINDINGS,
) -> StoredTable:
    """Write the inputs' columns into a folder. `hint` explains how to name another column for an input."""
    stored = store_rows(data, folder, [net_input.blob for net_input in inputs], preprocess, invalid, hint)
    if stored.skipped:
        _log.warning(
            "fit leaves out %d of %d rows, which have a value that is null or not finite (handleInvalid='%s')",
            stored.skipped,
            stored.rows + stored.skipped,
            invalid.value,
        )
    return stored


class RowsInFolder:
    """Rows stored in a folder as a table. The folder is removed with this object."""

    def __init__(self, source: str, folder: Path) -> None:
        self.table = Table(source)
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)


def store_columns(data: Data, inputs: Sequence[NetInput], folder: Path) -> str:
    """Store the inputs' columns in a folder. Returns their address as a source.

    For data without bindings. Raises a `DataError` for data without rows.
    """
    check_rows(data)
    kind_of(session_of(data)).run_in_this_python()
    return store_inputs(inputs, data, folder, hint=RENAMING).source


def store_for_net(data: Data, model: Model) -> RowsInFolder:
    """Return the rows on which a net of this process trains or tests. Raises a `DataError` for data without rows."""
    check_rows(data)
    inputs = inputs_from_rows(model, {})
    folder = new_folder(session_of(data))
    try:
        return RowsInFolder(store_columns(data, inputs, folder / "rows"), folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def check_rows(data: object) -> None:
    """Raise a `DataError` unless the data are a DataFrame or an RDD."""
    if not isinstance(data, DataFrame | RDD):
        raise DataError(f"Spark's {type(data).__name__} has no rows to store; give a DataFrame or an RDD")
