from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from netdsl.errors import DataError
from netdsl.tables.arrow import arrow
from netdsl.tables.columns import Rows, array_of, column_of

ROWS = Rows("x", part="partition 3", first=100)


def vectors() -> Any:
    """The type of pyspark.ml's vectors as Arrow has it."""
    pa = arrow()
    fields = [
        ("type", pa.int8()),
        ("size", pa.int32()),
        ("indices", pa.list_(pa.int32())),
        ("values", pa.list_(pa.float64())),
    ]
    return pa.struct(fields)


def images() -> Any:
    """The type of Spark's images as Arrow has it."""
    pa = arrow()
    numbers = [(name, pa.int32()) for name in ("height", "width", "nChannels", "mode")]
    return pa.struct([("origin", pa.string()), *numbers, ("data", pa.binary())])


def image(height: int, width: int, channels: int, mode: int) -> dict[str, Any]:
    data = bytes(range(height * width * channels))
    return {"height": height, "width": width, "nChannels": channels, "mode": mode, "data": data}


def test_numbers() -> None:
    for values in ([1, 2, 7], [True, False, True], [0.5, 1.5, 2], [Decimal("0.5"), Decimal("1.5"), Decimal("2.5")]):
        found = array_of(arrow().array(values), (), ROWS)
        assert found.dtype == np.float32
        assert found.tolist() == [float(value) for value in values]
    assert array_of(arrow().array([1, 2, 3]), (1,), ROWS).shape == (3, 1)


def test_lists_are_items_where_the_order_of_values_is_theirs() -> None:
    flat, nested = [[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]], [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]]
    for values in (flat, nested):
        for kind in (None, arrow().list_(arrow().int16(), 6) if values is flat else None):
            found = array_of(arrow().array(values, kind), (1, 2, 3), ROWS)
            assert found.dtype == np.float32
            assert np.array_equal(found, np.arange(1, 13).reshape(2, 1, 2, 3))
    assert array_of(arrow().array(nested), (3, 2), ROWS).shape == (2, 2, 3)
    assert array_of(arrow().array(nested)[1:], (1, 2, 3), ROWS).ravel().tolist() == [7, 8, 9, 10, 11, 12]
    assert array_of(arrow().array(flat), None, ROWS).shape == (2, 6)


def test_dense_and_sparse_vectors() -> None:
    dense, sparse = {"type": 1, "values": [1, 2, 3]}, {"type": 0, "size": 3, "indices": [0, 2], "values": [5, 6]}
    none = {"type": 0, "size": 3, "indices": [], "values": []}
    column = arrow().array([dense, sparse, none, dense], vectors())
    whole = [[1, 2, 3], [5, 0, 6], [0, 0, 0], [1, 2, 3]]
    assert array_of(column, None, ROWS).tolist() == whole
    assert array_of(column[1:], (3, 1), ROWS)[..., 0].tolist() == whole[1:]
    assert array_of(column[:1], None, ROWS).tolist() == whole[:1]


def test_bytes_are_values_or_encoded_images() -> None:
    column = arrow().array([b"abcdef", b"ghijkl"])
    found = array_of(column[1:], (1, 2, 3), ROWS)
    assert found.dtype == np.uint8
    assert found.tobytes() == b"ghijkl"
    for encoded in (column, arrow().array([b"\x89PNG\r\n\x1a\n123", b"\xff\xd8\xff12345678"])):
        shape = (1, 11) if encoded is not column else (1, 2, 4)
        assert array_of(encoded, shape, ROWS).tolist() == encoded.to_pylist()
    assert array_of(column, None, ROWS).tolist() == [b"abcdef", b"ghijkl"]


def test_images_of_spark_become_channels_height_width() -> None:
    column = arrow().array([image(2, 4, 3, 16), image(2, 4, 3, 16)], images())
    found = array_of(column[1:], (3, 5, 5), ROWS)
    assert found.dtype == np.uint8
    assert np.array_equal(found[0], np.arange(24).reshape(2, 4, 3).transpose(2, 0, 1))
    assert array_of(arrow().array([image(2, 5, 1, 0)], images()), None, ROWS).shape == (1, 1, 2, 5)
    without = array_of(arrow().array([image(2, 4, 4, 24)], images()), None, ROWS)
    assert without[0, :, 0, 0].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("values", "kind", "problem"),
    [
        ([1, None], None, "row 101 of partition 3 is null; drop such rows, or fill them"),
        ([[1, 2], [3]], None, "row 101 of partition 3 has 1 values, and others have 2"),
        ([[[1], [2]], [[3], [4, 5]]], None, "row 101 of partition 3 has 2 values, and others have 1"),
        ([[1, 2], [None, 3]], None, "row 101 of partition 3 has a null in its array"),
        (["a"], None, "is of type string, which can't be an array; a column has numbers, arrays"),
        ([["a"]], None, "has no numbers"),
        ([{"type": 1, "values": [1]}, {"type": 0, "size": 3, "indices": [], "values": []}], vectors, "3 values"),
        ([image(2, 4, 3, 16), image(4, 2, 3, 16)], images, "an image of 4 x 2 with 3 .* others are of 2 x 4"),
        ([image(2, 4, 3, 16), {**image(2, 4, 3, 16), "height": -1}], images, "row 101 .* is no image"),
        ([image(2, 4, 3, 21)], images, "row 100 .* whose values aren't of 8 bits"),
        ([{**image(2, 4, 3, 16), "data": b"1"}], images, "row 100 .* whose data don't fit its size"),
    ],
)
def test_what_is_wrong_is_told_with_its_row(values: list[Any], kind: Any, problem: str) -> None:
    with pytest.raises(DataError, match=f"^column 'x'.*{problem}"):
        array_of(arrow().array(values, kind() if kind else None), (1, 2), ROWS)


def test_arrays_become_columns() -> None:
    array = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    assert np.array_equal(column_of(array.transpose(0, 2, 1)).to_numpy_ndarray(), array.transpose(0, 2, 1))
    assert column_of(array[:, 0, 0]).to_pylist() == [0, 6]
    assert column_of(np.array([b"one", b"two"], object)).to_pylist() == [b"one", b"two"]
