"""Elements of RDDs as arrays and as Arrow columns, with added values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from pyspark.sql import Row

from netdsl.data.tables.columns import RowRange
from netdsl.data.tables.table import Arrays, BlobColumn, arrays_of
from netdsl.errors import DataError
from netdsl.prediction.invalid_rows import InvalidRows
from netdsl.spark.tables.elements import element_batches, element_table, with_values

BLOBS = [BlobColumn("data", "pixels", (1, 2, 3)), BlobColumn("label", "digit", (1,))]
PIXELS = np.arange(6, dtype=np.float64)
ROWS = RowRange("partition 7")


def batches_of(elements: Iterable[Any], blobs: Sequence[BlobColumn], part: str = "partition 7") -> list[Arrays]:
    """Return the batches without their places."""
    return [batch.arrays for batch in element_batches(elements, blobs, part)]


@pytest.mark.parametrize("form", ["tuple", "dict", "row"])
def test_elements_of_all_forms_become_batches(form: str) -> None:
    make: dict[str, Any] = {
        "tuple": lambda n: (PIXELS + n, n),
        "dict": lambda n: {"digit": n, "other": "x", "pixels": (PIXELS + n).tolist()},
        "row": lambda n: Row(digit=n, pixels=(PIXELS + n).tolist()),
    }
    batches = batches_of(map(make[form], range(1030)), BLOBS)
    assert [len(batch["label"]) for batch in batches] == [512, 512, 6]
    assert batches[0]["data"].dtype == np.float32
    data, label = (np.concatenate([batch[name] for batch in batches]) for name in ("data", "label"))
    assert np.array_equal(label, np.arange(1030).reshape(-1, 1))
    assert np.array_equal(data, (PIXELS + np.arange(1030)[:, None]).reshape(-1, 1, 2, 3))


def test_an_element_can_be_the_only_value() -> None:
    (found,) = batches_of([PIXELS, PIXELS + 1], BLOBS[:1])
    assert found["data"].shape == (2, 1, 2, 3)
    (found,) = batches_of([b"abcdef"], BLOBS[:1])
    assert found["data"].tobytes() == b"abcdef"


def test_elements_can_contain_all_column_types_of_arrow() -> None:
    image = {"height": 2, "width": 3, "nChannels": 1, "mode": 0, "data": bytearray(b"abcdef")}
    (found,) = batches_of([(image, Decimal("1.5")), (image, Decimal(2))], BLOBS)
    assert found["data"].tobytes() == b"abcdefabcdef"
    assert found["label"].tolist() == [[1.5], [2]]


@pytest.mark.parametrize(
    ("elements", "problem"),
    [
        ([(PIXELS, 1), (PIXELS, None)], "column 'digit': row 1 of partition 7 is None"),
        ([(PIXELS, 1)] * 600 + [(PIXELS, None)], "column 'digit': row 600 of partition 7 is None"),
        ([(PIXELS, 1), (PIXELS[:3], 2)], "column 'pixels': row 1 of partition 7 has shape"),
        ([(PIXELS, "1")], "column 'digit': row 0 of partition 7 isn't numeric"),
        (
            [(PIXELS, Decimal(1)), (PIXELS, "x")],
            "column 'digit': row 0 of partition 7 or a later row",
        ),
        ([(PIXELS,)], "an element of the RDD has 1 values; give one for each of data, label"),
        ([{"pixels": PIXELS}], "an element of the RDD has no 'digit', only pixels"),
    ],
)
def test_problems_are_reported(elements: list[Any], problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        batches_of(elements, BLOBS)


def test_elements_become_a_table_of_the_needed_columns() -> None:
    names = ["label", "data"]
    forms: list[list[Any]] = [
        [(n, PIXELS + n) for n in range(3)],  # with values for all inputs of the net, in the net's order
        [(PIXELS + n,) for n in range(3)],
        [PIXELS + n for n in range(3)],
        [Row(pixels=(PIXELS + n).tolist(), other=n) for n in range(3)],
    ]
    for elements in forms:
        table = element_table(elements, BLOBS[:1], names, ROWS, InvalidRows.ERROR)
        assert table.schema.names == ["pixels"]
        found = arrays_of(table, BLOBS[:1], ROWS)["data"]
        assert np.array_equal(found, (PIXELS + np.arange(3)[:, None]).reshape(3, 1, 2, 3))


def test_a_table_has_nulls_where_elements_have_none() -> None:
    elements = [(PIXELS, 1), (None, 2), (PIXELS + 1, None), (PIXELS + 2, 3)]
    table = element_table(elements, BLOBS, ["data", "label"], ROWS, InvalidRows.KEEP)
    assert table.column("digit").to_pylist() == [[1.0], None, None, [3.0]]
    assert table.column("pixels").is_null().to_pylist() == [False, True, True, False]
    assert element_table(elements[1:3], BLOBS, ["data", "label"], ROWS, InvalidRows.SKIP).num_rows == 2
    with pytest.raises(DataError, match="column 'pixels': row 1 of partition 7 is None"):
        element_table(elements, BLOBS, ["data", "label"], ROWS, InvalidRows.ERROR)


def test_new_values_are_added_in_the_elements_own_form() -> None:
    names, values = ["prediction", "probability"], (2.0, [0.5, 0.5])
    row = with_values(Row(b=1, a=2), names, values)
    assert row.asDict() == {"b": 1, "a": 2, "prediction": 2.0, "probability": [0.5, 0.5]}
    assert with_values({"b": 1}, names, values) == {"b": 1, "prediction": 2.0, "probability": [0.5, 0.5]}
    assert with_values((1, 2), names, values) == (1, 2, *values)
    assert with_values("text", names, values) == ("text", *values)
    for element in ({"prediction": 1}, Row(prediction=1)):
        with pytest.raises(DataError, match="already has a 'prediction'"):
            with_values(element, names, values)
