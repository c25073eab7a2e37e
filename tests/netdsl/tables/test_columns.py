"""Columns of all kinds as items, and what is wrong with some."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from netdsl.errors import DataError
from netdsl.tables.arrow import arrow, column_of
from netdsl.tables.columns import ColumnValues, RowRange, Shape


def items(column: Any, shape: Shape | None = None) -> np.ndarray:
    """All rows of a column, which must be the same when they are read one by one."""
    values = ColumnValues(column, "x", RowRange("partition 3", 100), shape)
    whole = values.items()
    rows = [ColumnValues(column[row : row + 1], "x", RowRange("", 0), shape).items() for row in range(len(column))]
    for row, expected in zip(rows, whole, strict=True):
        assert np.array_equal(row[0], expected)
    return whole


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
        found = items(arrow().array(values), ())
        assert found.dtype == np.float32
        assert found.tolist() == [float(value) for value in values]
    assert items(arrow().array([1, 2, 3]), (1,)).shape == (3, 1)


def test_lists_are_items_where_the_order_of_values_is_theirs() -> None:
    flat, nested = [[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]], [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]]
    for values in (flat, nested):
        for kind in (None, arrow().list_(arrow().int16(), 6) if values is flat else None):
            found = items(arrow().array(values, kind), (1, 2, 3))
            assert found.dtype == np.float32
            assert np.array_equal(found, np.arange(1, 13).reshape(2, 1, 2, 3))
    assert items(arrow().array(nested), (3, 2)).shape == (2, 2, 3)
    assert items(arrow().array(nested)[1:], (1, 2, 3)).ravel().tolist() == [7, 8, 9, 10, 11, 12]
    assert items(arrow().array(flat), None).shape == (2, 6)


def test_dense_and_sparse_vectors() -> None:
    dense, sparse = {"type": 1, "values": [1, 2, 3]}, {"type": 0, "size": 3, "indices": [0, 2], "values": [5, 6]}
    none = {"type": 0, "size": 3, "indices": [], "values": []}
    column = arrow().array([dense, sparse, none, dense], vectors())
    whole = [[1, 2, 3], [5, 0, 6], [0, 0, 0], [1, 2, 3]]
    assert items(column, None).tolist() == whole
    assert items(column[1:], (3, 1))[..., 0].tolist() == whole[1:]
    assert items(column[:1], None).tolist() == whole[:1]


def test_bytes_are_values_or_encoded_images() -> None:
    column = arrow().array([b"abcdef", b"ghijkl"])
    found = items(column[1:], (1, 2, 3))
    assert found.dtype == np.uint8
    assert found.tobytes() == b"ghijkl"
    for encoded in (column, arrow().array([b"\x89PNG\r\n\x1a\n123", b"\xff\xd8\xff12345678"])):
        shape = (1, 11) if encoded is not column else (1, 2, 4)
        assert items(encoded, shape).tolist() == encoded.to_pylist()
    assert items(column, None).tolist() == [b"abcdef", b"ghijkl"]


def test_images_of_spark_become_channels_height_width() -> None:
    column = arrow().array([image(2, 4, 3, 16), image(2, 4, 3, 16)], images())
    found = items(column[1:], (3, 5, 5))
    assert found.dtype == np.uint8
    assert np.array_equal(found[0], np.arange(24).reshape(2, 4, 3).transpose(2, 0, 1))
    assert items(arrow().array([image(2, 5, 1, 0)], images()), None).shape == (1, 1, 2, 5)
    without = items(arrow().array([image(2, 4, 4, 24)], images()), None)
    assert without[0, :, 0, 0].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("values", "kind", "problem"),
    [
        ([1, None], None, "row 101 of partition 3 is null; drop such rows, or fill them"),
        ([[[1], [2]], [[3], [4, 5]]], None, "row 101 of partition 3 has arrays of 1 and of 2 values in it"),
        ([[1, 2], [None, 3]], None, "row 101 of partition 3 has a null in its array"),
        ([[[1, 2], [3, None]]], None, "row 100 of partition 3 has a null in its array"),
        ([{"bytes": b"1"}, {"bytes": None}], None, "row 101 of partition 3 is null"),
        (["a"], None, "is of type string, which can't be an array; a column has numbers, arrays"),
        ([["a"]], None, r"is of type list<.*string>, which can't be an array"),
        ([{"type": 0, "size": 3, "indices": [3], "values": [1]}], vectors, "row 100 .* whose indices don't fit"),
        ([image(2, 4, 3, 16), {**image(2, 4, 3, 16), "height": -1}], images, "row 101 .* is no image"),
        ([{**image(2, 4, 3, 16), "mode": None}], images, "row 100 .* whose values aren't of 8 bits"),
        ([image(2, 4, 3, 21)], images, "row 100 .* whose values aren't of 8 bits"),
        ([{**image(2, 4, 3, 16), "data": b"1"}], images, "row 100 .* whose data don't fit its size"),
    ],
)
def test_what_is_wrong_is_told_with_its_row(values: list[Any], kind: Any, problem: str) -> None:
    with pytest.raises(DataError, match=f"^column 'x'.*{problem}"):
        items(arrow().array(values, kind() if kind else None), (1, 2))


def test_rows_of_different_shapes_stay_rows() -> None:
    found = items(arrow().array([[1, 2], [3]]), (1, 2))
    assert [row.tolist() for row in found] == [[[1, 2]], [3]]
    found = items(arrow().array([image(2, 4, 3, 16), image(4, 2, 3, 16)], images()))
    assert [(row.dtype, row.shape) for row in found] == [(np.uint8, (3, 2, 4)), (np.uint8, (3, 4, 2))]
    found = items(
        arrow().array([{"type": 1, "values": [1]}, {"type": 0, "size": 2, "indices": [], "values": []}], vectors())
    )
    assert [row.tolist() for row in found] == [[1], [0, 0]]
    mixed = items(arrow().array([b"abcdef", b"\xff\xd8\xff123", b"abc"]), (1, 2, 3))
    assert [mixed[0].tolist(), *mixed[1:]] == [[[[97, 98, 99], [100, 101, 102]]], b"\xff\xd8\xff123", b"abc"]


def test_dictionaries_are_their_values() -> None:
    numbers = arrow().array([3, 1, 3, 3]).dictionary_encode()
    assert items(numbers[1:]).tolist() == [1, 3, 3]
    lists = arrow().DictionaryArray.from_arrays(arrow().array([1, 0, 1]), arrow().array([[1, 2], [3, 4]]))
    assert items(lists, (2, 1)).tolist() == [[[3], [4]], [[1], [2]], [[3], [4]]]


def test_tensors_whose_axes_lie_in_another_order() -> None:
    array = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    column = arrow().FixedShapeTensorArray.from_numpy_ndarray(array.transpose(0, 2, 1))
    assert column.type.permutation == [1, 0]
    assert np.array_equal(items(column), array.transpose(0, 2, 1))
    kind = arrow().fixed_shape_tensor(arrow().int64(), (2, 3, 4), permutation=[1, 2, 0])
    tensors = arrow().ExtensionArray.from_storage(kind, arrow().array([[*range(24)]], kind.storage_type))
    assert np.array_equal(items(tensors)[0], np.arange(24).reshape(2, 3, 4).transpose(1, 2, 0))
    kind = arrow().fixed_shape_tensor(arrow().bool_(), (1, 2))
    flags = arrow().ExtensionArray.from_storage(kind, arrow().array([[True, False]], kind.storage_type))
    assert items(flags).tolist() == [[[1, 0]]]


def test_numbers_and_pixels_are_not_copied() -> None:
    array = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    pixels = arrow().array([image(2, 4, 3, 16), image(2, 4, 3, 16)], images())
    for column in (column_of(array), arrow().FixedSizeListArray.from_arrays(array.ravel(), 6), pixels):
        whole = ColumnValues(column, "x", RowRange("the table")).whole
        assert whole is not None
        assert not whole.flags.owndata


def test_what_would_take_more_memory_than_its_column_is_not_read_whole() -> None:
    sparse = arrow().array([{"type": 0, "size": 1 << 20, "indices": [1], "values": [2]}] * 3, vectors())
    lists = arrow().DictionaryArray.from_arrays(arrow().array([0, 0]), arrow().array([[1, 2]]))
    for column in (sparse, lists):
        values = ColumnValues(column, "x", RowRange("the table"))
        assert values.whole is None
        assert np.asarray(values.row(1))[1] == 2


def test_arrays_become_columns() -> None:
    array = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    assert np.array_equal(column_of(array.transpose(0, 2, 1)).to_numpy_ndarray(), array.transpose(0, 2, 1))
    assert column_of(array[:, 0, 0]).to_pylist() == [0, 6]
    assert column_of(np.array([b"one", b"two"], object)).to_pylist() == [b"one", b"two"]
