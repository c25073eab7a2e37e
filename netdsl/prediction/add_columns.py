"""Adds columns of predictions to a table, one Arrow batch of rows after another."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from netdsl.data.tables.arrow import arrow
from netdsl.data.tables.columns import Mask, RowRange
from netdsl.data.tables.table import arrays_of
from netdsl.data.types import Array, Random
from netdsl.errors import DataError
from netdsl.prediction.invalid_rows import InvalidRows, check_inputs, check_outputs, finite_rows, without_missing
from netdsl.prediction.net_inputs import Preprocess, apply_preprocess
from netdsl.prediction.predictor import Predictor

_NO_ROWS = np.ones(0, bool)


class ColumnForm(Enum):
    """The form of a row's values in a new column."""

    ARRAY = "array"
    NUMBER = "number"
    BEST = "best"  # the index of the largest value, or a single value itself; pyspark.ml calls it a prediction
    NAME = "name"  # the name of the class with the largest value


class NewColumn(NamedTuple):
    """A new column: its name, the edge that its values come from, and their form."""

    name: str
    edge: int
    form: ColumnForm


@dataclass(frozen=True)
class ColumnNames:
    """The names of new columns: for blobs by their names, for the prediction, and for its probabilities.

    An empty name means no column. `predicted_class` is the column for the name of the predicted class, if `classes`
    lists the names.
    """

    blobs: Mapping[str, str]
    prediction: str
    probability: str
    predicted_class: str = ""
    classes: tuple[str, ...] = ()

    def columns(self, predictor: Predictor) -> list[NewColumn]:
        """Return the new columns that a net can fill.

        A net with a single class has no column of probabilities.
        """
        columns = list[NewColumn]()
        for blob, name in self.blobs.items():
            edge = predictor.outputs[blob]
            form = ColumnForm.NUMBER if predictor.values(edge) == 1 else ColumnForm.ARRAY
            columns.append(NewColumn(name, edge, form))
        if predictor.prediction is not None and predictor.classes() > 1 and self.probability:
            columns.append(NewColumn(self.probability, predictor.prediction, ColumnForm.ARRAY))
        if predictor.prediction is not None and predictor.classes() and self.prediction:
            columns.append(NewColumn(self.prediction, predictor.prediction, ColumnForm.BEST))
        if predictor.prediction is not None and predictor.classes() > 1 and self.predicted_class and self.classes:
            columns.append(NewColumn(self.predicted_class, predictor.prediction, ColumnForm.NAME))
        return columns


def check_new_columns(names: Sequence[str], columns: Sequence[NewColumn]) -> None:
    """Raise a `DataError` if a new column would have the same name as another column."""
    new_names = [column.name for column in columns]
    for name in new_names:
        if name in names or new_names.count(name) > 1:
            raise DataError(f"there would be two columns '{name}'; rename one of them, or drop the old one")


@dataclass(frozen=True)
class ColumnAdder:
    """Adds columns to a table in batches of `batch` rows, after a user's function has changed each batch.

    A row is invalid if an input is null, or if an input or a new column isn't finite. `invalid` selects the treatment
    of such rows.
    """

    names: ColumnNames
    batch: int
    preprocess: Preprocess | None = None
    invalid: InvalidRows = InvalidRows.ERROR

    def add(self, predictor: Predictor, batches: Iterable[Any], part: str) -> Iterator[Any]:
        """Yield the batches of one part of a table with the new columns."""
        random, first = np.random.default_rng(0), 0
        for batch in batches:
            for start in range(0, max(1, batch.num_rows), self.batch):
                rows = RowRange(part, first + start)
                yield self._add(predictor, batch.slice(start, self.batch), rows, random)
            first += batch.num_rows

    def _add(self, predictor: Predictor, batch: Any, rows: RowRange, random: Random) -> Any:
        columns = self.names.columns(predictor)
        if not batch.num_rows:
            return _with_columns(
                batch,
                {column.name: self._column(np.zeros((0, 1), np.float32), column.form, _NO_ROWS) for column in columns},
            )
        blobs = [net_input.blob for net_input in predictor.inputs]
        with_values, missing = without_missing(batch, blobs, self.invalid)
        if not with_values.num_rows:
            return self._all_invalid(predictor, batch, columns)
        arrays = apply_preprocess(arrays_of(with_values, blobs, rows), blobs, self.preprocess)
        if self.invalid is InvalidRows.ERROR:
            check_inputs(arrays, blobs, rows)
        blobs_of_net = predictor(arrays, random, rows)
        outputs = {column.name: blobs_of_net[column.edge] for column in columns}
        if self.invalid is InvalidRows.ERROR:
            check_outputs(outputs, rows)
            valid = np.ones(batch.num_rows, bool)
        else:
            values_of_rows = [*(arrays[blob.name] for blob in blobs), *outputs.values()]
            valid = np.logical_and.reduce([~missing, *(finite_rows(values) for values in values_of_rows)])
        new_columns = {column.name: self._column(outputs[column.name], column.form, valid) for column in columns}
        batch = _with_columns(batch, new_columns)
        return batch.filter(arrow().array(valid)) if self.invalid is InvalidRows.SKIP and not valid.all() else batch

    def _all_invalid(self, predictor: Predictor, batch: Any, columns: Sequence[NewColumn]) -> Any:
        """Return a batch in which all rows are invalid, with the new columns."""
        if self.invalid is InvalidRows.SKIP:
            batch = batch.slice(0, 0)
        valid, new_columns = np.zeros(batch.num_rows, bool), dict[str, Any]()
        for column in columns:
            values = np.zeros((len(valid), predictor.values(column.edge)), np.float32)
            new_columns[column.name] = self._column(values, column.form, valid)
        return _with_columns(batch, new_columns)

    def _column(self, values: Array, form: ColumnForm, valid: Mask) -> Any:
        if form is not ColumnForm.NAME:
            return _column(values, form, valid)
        classes = self.names.classes
        best = values.reshape(len(values), math.prod(values.shape[1:])).argmax(1).tolist()
        pairs = zip(best, valid.tolist(), strict=True)
        return arrow().array([classes[index] if is_valid else None for index, is_valid in pairs], arrow().string())


def _with_columns(batch: Any, columns: dict[str, Any]) -> Any:
    schema = batch.schema
    for name, column in columns.items():
        schema = schema.append(arrow().field(name, column.type))
    return arrow().RecordBatch.from_arrays([*batch.columns, *columns.values()], schema=schema)


def _column(values: Array, form: ColumnForm, valid: Mask) -> Any:
    """Return a new column. Invalid rows contain NaN."""
    rows = values.reshape(len(values), math.prod(values.shape[1:]))
    if not valid.all():
        rows = np.where(valid[:, None], rows, np.float32(np.nan))
    if form is ColumnForm.ARRAY:
        ends = np.arange(len(rows) + 1) * rows.shape[1]
        return arrow().ListArray.from_arrays(ends.astype(np.int32), rows.ravel())
    if form is ColumnForm.BEST:
        best = np.where(valid, rows.argmax(1), np.nan) if rows.shape[1] > 1 else rows[:, 0]
        return arrow().array(best.astype(np.float64))
    return arrow().array(rows[:, 0])
