"""Tables with more columns: Arrow's batches of rows in, the same with what a net makes of them out."""

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
from netdsl.prediction.blobs import Preprocess, arrays_of, preprocessed
from netdsl.prediction.predictor import Predictor
from netdsl.tables.arrow import arrow
from netdsl.tables.columns import Rows


class ColumnForm(Enum):
    """What a column has of a row's values."""

    ARRAY = "array"
    NUMBER = "number"
    BEST = "best"  # the place of the largest, or the value if there is but one: what pyspark.ml calls a prediction


class Made(NamedTuple):
    """A new column: of which edge, and in which form."""

    column: str
    edge: int
    form: ColumnForm


@dataclass(frozen=True)
class NewColumns:
    """The new columns: those of some blobs, and if they have a name that of the prediction and its probabilities."""

    blobs: Mapping[str, str]
    prediction: str
    probability: str

    def made(self, head: PredictionSubgraph) -> list[Made]:
        """What can be made; probabilities are there if there are several."""
        found = [
            Made(
                column,
                head.outputs[blob],
                ColumnForm.NUMBER if head.values(head.outputs[blob]) == 1 else ColumnForm.ARRAY,
            )
            for blob, column in self.blobs.items()
        ]
        if head.prediction is not None and head.classes() > 1 and self.probability:
            found.append(Made(self.probability, head.prediction, ColumnForm.ARRAY))
        if head.prediction is not None and head.classes() and self.prediction:
            found.append(Made(self.prediction, head.prediction, ColumnForm.BEST))
        return found


def check_new(names: Sequence[str], made: Sequence[Made]) -> None:
    """A DataError if a new column would have the name of another one."""
    new = [each.column for each in made]
    for name in new:
        if name in names or new.count(name) > 1:
            raise DataError(f"there would be two columns '{name}'; name another one, or drop the old one")


@dataclass(frozen=True)
class ColumnAdder:
    """Which columns are added, how many rows the net takes at once, and what a user's function makes of them first."""

    wanted: NewColumns
    batch: int
    preprocess: Preprocess | None = None

    def of(self, predictor: Predictor, batches: Iterable[Any], part: str) -> Iterator[Any]:
        """The batches of a part of a table with the new columns."""
        random, first = np.random.default_rng(0), 0
        for batch in batches:
            for start in range(0, max(1, batch.num_rows), self.batch):
                rows = batch.slice(start, self.batch)
                yield self._widened(predictor, rows, Rows("", part, first + start), random)
            first += batch.num_rows

    def _widened(self, predictor: Predictor, batch: Any, rows: Rows, random: Random) -> Any:
        made = self.wanted.made(predictor.head)
        if not batch.num_rows:
            return _with(batch, {each.column: _column(np.zeros((0, 1), np.float32), each.form) for each in made})
        blobs = [each.blob for each in predictor.inputs]
        found = predictor(preprocessed(arrays_of(batch, blobs, rows), blobs, self.preprocess), random)
        return _with(batch, {each.column: _column(found[each.edge], each.form) for each in made})


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
