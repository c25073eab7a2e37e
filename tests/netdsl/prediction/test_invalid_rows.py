"""Rows with values that aren't finite, or that lead to such results, are an error, left out, or NaN, but never a
class."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from netdsl import LinearLayer, Net, NetParams, RDDLayer, SoftmaxWithLoss
from netdsl.errors import DataError
from netdsl.model.model import Model
from netdsl.model.opening import open_weights
from netdsl.prediction.add_columns import ColumnAdder, ColumnNames
from netdsl.prediction.invalid_rows import InvalidRows
from netdsl.prediction.predictor import Predictor
from netdsl.prediction.scoring import Scorer

NET = NetParams(
    "small",
    RDDLayer("data", shape=[2, 3]),
    RDDLayer("label", shape=[2, 1]),
    LinearLayer("scores", ["data"], num_outputs=4, weight_filler={"type": "constant", "value": 2}),
    SoftmaxWithLoss("loss", ["scores", "label"]),
)
NAMES = ColumnNames({"scores": "raw"}, prediction="prediction", probability="probability")
HUGE = [3e38, 3e38, 3e38]  # finite, but their products aren't


@pytest.fixture
def weights(tmp_path: Path) -> Any:
    Net(NET).save(tmp_path / "w.caffemodel")
    return open_weights(tmp_path / "w.caffemodel").weights


def rows(*extra: list[float | None] | None) -> Iterator[Any]:
    values = [[1.0, 2, 3], [4, 5, 6], *extra, [7, 8, 9]]
    yield pa.RecordBatch.from_pydict({"data": values, "label": [0.0] * len(values), "id": list(range(len(values)))})


def predicted(weights: Any, invalid: InvalidRows, *extra: list[float | None] | None) -> list[dict[str, Any]]:
    adder = ColumnAdder(NAMES, 2, invalid=invalid)
    batches = adder.add(Predictor(Model(NET.message, weights), ["scores"]).load(), rows(*extra), "rows.parquet")
    return [row for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ([float("nan"), 1, 1], "column 'data': row 2 of rows.parquet has a value that isn't finite"),
        ([1, float("inf"), 1], "column 'data': row 2 of rows.parquet has a value that isn't finite"),
        (HUGE, "column 'raw': row 2 of rows.parquet isn't finite, although its inputs are"),
        (None, "column 'data': row 2 of rows.parquet is null"),
        ([1, None, 1], "column 'data': row 2 of rows.parquet has a null in its array"),
    ],
)
def test_an_error_names_the_row_and_the_others_are_left_out_or_kept(row: list | None, reason: str, weights) -> None:
    with pytest.raises(DataError, match=reason):
        predicted(weights, InvalidRows.ERROR, row)
    assert [each["id"] for each in predicted(weights, InvalidRows.SKIP, row)] == [0, 1, 3]
    kept = predicted(weights, InvalidRows.KEEP, row)
    assert [each["id"] for each in kept] == [0, 1, 2, 3]
    assert np.isnan(kept[2]["prediction"]) and np.isnan(kept[2]["probability"]).all() and np.isnan(kept[2]["raw"]).all()
    assert [each["prediction"] for each in kept[:2]] == [0, 0] and np.isfinite(kept[3]["probability"]).all()


def test_a_batch_without_valid_rows_is_handled(weights) -> None:
    assert [each["id"] for each in predicted(weights, InvalidRows.SKIP, None, None)] == [0, 1, 4]
    kept = predicted(weights, InvalidRows.KEEP, None, None)
    assert [each["id"] for each in kept] == [0, 1, 2, 3, 4]
    assert [np.isnan(each["prediction"]) for each in kept] == [False, False, True, True, False]
    assert np.shape(kept[2]["raw"]) == np.shape(kept[4]["raw"]) == (4,)


def test_finite_rows_do_not_depend_on_invalid_ones(weights) -> None:
    assert predicted(weights, InvalidRows.ERROR) == predicted(weights, InvalidRows.SKIP)
    assert predicted(weights, InvalidRows.ERROR) == predicted(weights, InvalidRows.KEEP)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ([float("nan"), 1, 1], "column 'data': row 2 of rows has a value that isn't finite"),
        (HUGE, "rows 2 to 3 of rows: '.*' isn't finite for these rows"),
    ],
)
def test_scores_count_finite_rows_only(row: list[float], reason: str, weights) -> None:
    with pytest.raises(DataError, match=reason):
        Scorer(Model(NET.message, weights), {}).score(rows(row), "rows")
