"""Columns of predictions, added to a table: Arrow's batches of rows in, the same batches with new columns out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from netdsl.data.types import Array, Random
from netdsl.deploy.subgraph import PredictionSubgraph
from netdsl.errors import DataError
from netdsl.prediction.net_inputs import Preprocess, preprocessed
from netdsl.prediction.predictor import Predictor
from netdsl.tables.arrow import arrow
from netdsl.tables.binding import arrays_of
from netdsl.tables.columns import RowRange


class ColumnForm(Enum):
    """The form of a row's values in a new column."""

    ARRAY = "array"
    NUMBER = "number"
    BEST = "best"  # the place of the largest, or the value if there is but one: what pyspark.ml calls a prediction


class NewColumn(NamedTuple):
    """A column that is added: its name, the edge whose values it has, and their form."""

    name: str
    edge: int
    form: ColumnForm


@dataclass(frozen=True)
class ColumnNames:
    """The names of new columns, of some blobs, of the prediction and of its probabilities; '' for neither of these."""

    blobs: Mapping[str, str]
    prediction: str
    probability: str

    def columns(self, subgraph: PredictionSubgraph) -> list[NewColumn]:
        """The columns that a net can fill; probabilities are there if there are several."""
        new = list[NewColumn]()
        for blob, name in self.blobs.items():
            edge = subgraph.outputs[blob]
            new.append(NewColumn(name, edge, ColumnForm.NUMBER if subgraph.values(edge) == 1 else ColumnForm.ARRAY))
        if subgraph.prediction is not None and subgraph.classes() > 1 and self.probability:
            new.append(NewColumn(self.probability, subgraph.prediction, ColumnForm.ARRAY))
        if subgraph.prediction is not None and subgraph.classes() and self.prediction:
            new.append(NewColumn(self.prediction, subgraph.prediction, ColumnForm.BEST))
        return new


def check_new_columns(names: Sequence[str], columns: Sequence[NewColumn]) -> None:
    """A DataError if a new column would have the name of another one."""
    new = [column.name for column in columns]
    for name in new:
        if name in names or new.count(name) > 1:
            raise DataError(f"there would be two columns '{name}'; name another one, or drop the old one")


@dataclass(frozen=True)
class ColumnAdder:
    """The names of the columns to add, how many rows the net takes at once, and a user's function for them."""

    names: ColumnNames
    batch: int
    preprocess: Preprocess | None = None

    def add(self, predictor: Predictor, batches: Iterable[Any], part: str) -> Iterator[Any]:
        """The batches of a part of a table with the new columns."""
        random, first = np.random.default_rng(0), 0
        for batch in batches:
            for start in range(0, max(1, batch.num_rows), self.batch):
                rows = RowRange(part, first + start)
                yield self._add(predictor, batch.slice(start, self.batch), rows, random)
            first += batch.num_rows

    def _add(self, predictor: Predictor, batch: Any, rows: RowRange, random: Random) -> Any:
        new = self.names.columns(predictor.head)
        if not batch.num_rows:
            return _with(batch, {column.name: _column(np.zeros((0, 1), np.float32), column.form) for column in new})
        blobs = [net_input.blob for net_input in predictor.inputs]
        values = predictor(preprocessed(arrays_of(batch, blobs, rows), blobs, self.preprocess), random, rows)
        return _with(batch, {column.name: _column(values[column.edge], column.form) for column in new})


def _with(batch: Any, columns: dict[str, Any]) -> Any:
    schema = batch.schema
    for name, column in columns.items():
        schema = schema.append(arrow().field(name, column.type))
    return arrow().RecordBatch.from_arrays([*batch.columns, *columns.values()], schema=schema)


def _column(values: Array, form: ColumnForm) -> Any:
    rows = values.reshape(len(values), math.prod(values.shape[1:]))
    if form is ColumnForm.ARRAY:
        ends = np.arange(len(rows) + 1) * rows.shape[1]
        return arrow().ListArray.from_arrays(ends.astype(np.int32), rows.ravel())
    if form is ColumnForm.BEST:
        best = rows.argmax(1) if rows.shape[1] > 1 else rows[:, 0]
        return arrow().array(best.astype(np.float64))
    return arrow().array(rows[:, 0])
