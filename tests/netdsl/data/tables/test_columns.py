"""Columns of all types, read completely, by single rows, and in all other ways in which tables are read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.batches import Batches
from netdsl.data.batches.reading import Intake, Loading
from netdsl.data.batches.table_binding import blob_columns, reading_of
from netdsl.data.tables.arrow import arrow, column_of
from netdsl.data.tables.columns import ColumnValues, RowRange, Shape
from netdsl.data.tables.table import BlobColumn, Table, arrays_of, missing_rows
from netdsl.data.transforms.transform import Transform
from netdsl.errors import DataError
from netdsl.prediction.net_inputs import NetInput
from netdsl.prediction.predictor import input_tensor
from tests.small_data import png_of


def items(column: Any, shape: Shape | None = None) -> np.ndarray:
    """Return all rows of a column, which must be the same when they are read one by one."""
    values = ColumnValues(column, "x", RowRange("partition 3", 100), shape)
    whole = values.items()
    rows = [ColumnValues(column[row : row + 1], "x", RowRange("", 0), shape).items() for row in range(len(column))]
    for row, expected in zip(rows, whole, strict=True):
        assert np.array_equal(row[0], expected)
    return whole


def vectors() -> Any:
    """Return the Arrow type of pyspark.ml's vectors."""
    pa = arrow()
    fields = [
        ("type", pa.int8()),
        ("size", pa.int32()),
        ("indices", pa.list_(pa.int32())),
        ("values", pa.list_(pa.float64())),
    ]
    return pa.struct(fields)


def images() -> Any:
    """Return the Arrow type of Spark's images."""
    pa = arrow()
    numbers = [(name, pa.int32()) for name in ("height", "width", "nChannels", "mode")]
    return pa.struct([("origin", pa.string()), *numbers, ("data", pa.binary())])


def image(height: int, width: int, channels: int, mode: int) -> dict[str, Any]:
    data = bytes(range(height * width * channels))
    return {"height": height, "width": width, "nChannels": channels, "mode": mode, "data": data}


def test_columns_of_numbers_are_read() -> None:
    for values in ([1, 2, 7], [True, False, True], [0.5, 1.5, 2], [Decimal("0.5"), Decimal("1.5"), Decimal("2.5")]):
        found = items(arrow().array(values), ())
        assert found.dtype == np.float32
        assert found.tolist() == [float(value) for value in values]
    assert items(arrow().array([1, 2, 3]), (1,)).shape == (3, 1)


def test_lists_are_items_in_the_order_of_their_values() -> None:
    flat, nested = [[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]], [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]]
    for values in (flat, nested):
        for kind in (None, arrow().list_(arrow().int16(), 6) if values is flat else None):
            found = items(arrow().array(values, kind), (1, 2, 3))
            assert found.dtype == np.float32
            assert np.array_equal(found, np.arange(1, 13).reshape(2, 1, 2, 3))
    assert items(arrow().array(nested), (3, 2)).shape == (2, 2, 3)
    assert items(arrow().array(nested)[1:], (1, 2, 3)).ravel().tolist() == [7, 8, 9, 10, 11, 12]
    assert items(arrow().array(flat), None).shape == (2, 6)


def test_dense_and_sparse_vectors_are_read() -> None:
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
        ([[[1], [2]], [[3], [4, 5]]], None, "row 101 of partition 3 has arrays of 1 and of 2 values"),
        ([[1, 2], [None, 3]], None, "row 101 of partition 3 has a null in its array"),
        ([[[1, 2], [3, None]]], None, "row 100 of partition 3 has a null in its array"),
        ([{"bytes": b"1"}, {"bytes": None}], None, "row 101 of partition 3 is null"),
        (["a"], None, "is of type string, which can't be an array; use a column of numbers, arrays"),
        ([["a"]], None, r"is of type list<.*string>, which can't be an array"),
        ([{"type": 0, "size": 3, "indices": [3], "values": [1]}], vectors, "row 100 .* whose indices don't fit"),
        ([image(2, 4, 3, 16), {**image(2, 4, 3, 16), "height": -1}], images, "row 101 .* isn't an image"),
        ([{**image(2, 4, 3, 16), "mode": None}], images, "row 100 .* whose values aren't of 8 bits"),
        ([image(2, 4, 3, 21)], images, "row 100 .* whose values aren't of 8 bits"),
        ([{**image(2, 4, 3, 16), "data": b"1"}], images, "row 100 .* whose data don't fit its size"),
    ],
)
def test_problems_are_reported_with_their_row(values: list[Any], kind: Any, problem: str) -> None:
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


def test_tensors_with_permuted_axes_are_read() -> None:
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


def test_columns_that_would_grow_in_memory_are_not_read_whole() -> None:
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


PIXELS = np.random.default_rng(0).integers(0, 256, (5, 4, 6, 7), np.uint8)  # four channels each
BGR = PIXELS[:, :3]
GRAY = PIXELS[:, :1]
FLOATS = np.random.default_rng(1).standard_normal((5, 2, 3)).astype(np.float32)
NUMBERS = np.array([0.5, -1, 2, 0, 7], np.float32)
VECTOR = pa.struct(
    [("type", pa.int8()), ("size", pa.int32()), ("indices", pa.list_(pa.int32())), ("values", pa.list_(pa.float64()))]
)
DENSE = [{"type": 1, "values": row} for row in FLOATS.reshape(5, 6).tolist()]
SPARSE = [{"type": 0, "size": 6, "indices": [1, 4], "values": [row + 1, 9]} for row in range(5)]
SPARSE_ARRAY = np.array([[0, row + 1, 0, 0, 9, 0] for row in range(5)], np.float32)
IMAGE = pa.struct([*[(name, pa.int32()) for name in ("height", "width", "nChannels", "mode")], ("data", pa.binary())])


def spark_image(image: np.ndarray) -> dict[str, Any]:
    channels, height, width = image.shape
    data = image.transpose(1, 2, 0).tobytes()
    return {"height": height, "width": width, "nChannels": channels, "mode": 8 * (channels - 1), "data": data}


def without_color(image: np.ndarray) -> np.ndarray:
    gray: np.ndarray = cv2.imdecode(np.frombuffer(png_of(image), np.uint8), cv2.IMREAD_GRAYSCALE)
    return gray[None]


def resized(image: np.ndarray) -> np.ndarray:
    pixels: np.ndarray = cv2.resize(np.ascontiguousarray(image.transpose(1, 2, 0)), (3, 2))
    return pixels.transpose(2, 0, 1)


def cut(row: int) -> np.ndarray:
    """Return an image whose size depends on its row."""
    return BGR[row, :, : 4 + row % 3, : 5 + row % 2]


def dictionary(values: Any) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array([4, 3, 2, 1, 0]), pa.array(values))


CROP = pb.TransformationParameter(crop_size=3, scale=0.5)
RESIZE = pb.TransformationParameter(resize_param=[pb.ResizeParameter(prob=1, height=2, width=3)])


@dataclass(frozen=True)
class Kind:
    """A column, how a blob reads it, and the blob's values."""

    column: Any
    expected: Any
    shape: Shape | None = None
    transform: pb.TransformationParameter | None = None
    gray: bool = False
    in_parquet: bool = True  # whether Parquet supports it


KINDS = {
    "floats": Kind(pa.array(NUMBERS), NUMBERS),
    "doubles": Kind(pa.array(NUMBERS.astype(float)), NUMBERS[:, None], (1,)),
    "halves": Kind(pa.array(NUMBERS.astype(np.float16)), NUMBERS),
    "integers": Kind(pa.array(range(5), pa.int16()), np.arange(5)),
    "bytes as numbers": Kind(pa.array(range(5), pa.uint8()), np.arange(5)),
    "booleans": Kind(pa.array([True, False, True, True, False]), [1, 0, 1, 1, 0]),
    "decimals": Kind(pa.array([Decimal(str(number)) for number in NUMBERS]), NUMBERS),
    "lists": Kind(pa.array(FLOATS.reshape(5, 6).tolist()), FLOATS, (2, 3)),
    "lists of one length": Kind(pa.array(FLOATS.reshape(5, 6).tolist(), pa.list_(pa.float32(), 6)), FLOATS, (2, 3)),
    "large lists": Kind(pa.array(FLOATS.reshape(5, 6).tolist(), pa.large_list(pa.float32())), FLOATS.reshape(5, 6)),
    "lists in lists": Kind(pa.array(FLOATS.tolist()), FLOATS[:, None], (1, 2, 3)),
    "lists of booleans": Kind(pa.array([[True, False]] * 5), [[1, 0]] * 5),
    "lists of decimals": Kind(pa.array([[Decimal("0.5"), Decimal(2)]] * 5), [[0.5, 2]] * 5),
    "images in lists": Kind(pa.array(BGR.tolist()), BGR[:, :, 1:4, 2:5] / 2, (3, 3, 3), CROP),
    "images of several sizes in lists": Kind(
        pa.array([cut(row).tolist() for row in range(5)]), [resized(cut(row)) for row in range(5)], (3, 2, 3), RESIZE
    ),
    "tensors": Kind(pa.FixedShapeTensorArray.from_numpy_ndarray(FLOATS), FLOATS),
    "tensors of bytes": Kind(pa.FixedShapeTensorArray.from_numpy_ndarray(np.ascontiguousarray(BGR)), BGR),
    "tensors with axes in another order": Kind(
        pa.FixedShapeTensorArray.from_numpy_ndarray(FLOATS.transpose(0, 2, 1)), FLOATS.transpose(0, 2, 1)
    ),
    "dense vectors": Kind(pa.array(DENSE, VECTOR), FLOATS, (2, 3)),
    "sparse vectors": Kind(pa.array(SPARSE, VECTOR), SPARSE_ARRAY),
    "vectors of both kinds": Kind(
        pa.array([*DENSE[:2], *SPARSE[2:]], VECTOR), [*FLOATS.reshape(5, 6)[:2], *SPARSE_ARRAY[2:]]
    ),
    "numbers in a dictionary": Kind(dictionary(NUMBERS), NUMBERS[::-1]),
    "lists in a dictionary": Kind(dictionary(FLOATS.tolist()), FLOATS[::-1], in_parquet=False),
    "image files in a dictionary": Kind(dictionary([png_of(image) for image in BGR]), BGR[::-1]),
    "Spark's images": Kind(pa.array([spark_image(image) for image in BGR], IMAGE), BGR),
    "Spark's images with transparency": Kind(pa.array([spark_image(image) for image in PIXELS], IMAGE), BGR),
    "Spark's images without colors": Kind(pa.array([spark_image(image) for image in GRAY], IMAGE), GRAY, (1, 6, 7)),
    "Spark's images of several sizes": Kind(
        pa.array([spark_image(cut(row)) for row in range(5)], IMAGE),
        [resized(cut(row)) for row in range(5)],
        (3, 2, 3),
        RESIZE,
    ),
    "values as bytes": Kind(pa.array([image.tobytes() for image in BGR]), BGR, (3, 6, 7)),
    "values as bytes of one length": Kind(pa.array([image.tobytes() for image in BGR], pa.binary(126)), BGR, (3, 6, 7)),
    "image files": Kind(pa.array([png_of(image) for image in BGR]), BGR, (3, 6, 7)),
    "image files, large": Kind(pa.array([png_of(image) for image in BGR], pa.large_binary()), BGR),
    "image files without colors": Kind(
        pa.array([png_of(image) for image in BGR]), [without_color(image) for image in BGR], (1, 6, 7), gray=True
    ),
    "image files of several sizes": Kind(
        pa.array([png_of(cut(row)) for row in range(5)]), [resized(cut(row)) for row in range(5)], (3, 2, 3), RESIZE
    ),
    "image files as Hugging Face has them": Kind(
        pa.array([{"bytes": png_of(image), "path": "a.png"} for image in BGR]), BGR[:, :, 1:4, 2:5] / 2, (3, 3, 3), CROP
    ),
    "values as bytes in a struct": Kind(pa.array([{"bytes": image.tobytes()} for image in BGR]), BGR, (3, 6, 7)),
}


def intake(kind: Kind) -> Intake:
    transform = None if kind.transform is None else Transform(kind.transform, train=False)
    return Intake(("x",), 5, (kind.shape,), transform, kind.gray)


def write_arrow(path: Path, column: Any) -> str:
    """Write the rows in two parts."""
    rows = pa.record_batch({"c": column})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_batch(rows[:3])
        writer.write_batch(rows[3:])
    return f"arrow:{path}"


def trained_on(source: str, kind: Kind, column: str = "c") -> Iterator[np.ndarray]:
    """Return a batch that is read for training, in one piece if possible and otherwise row by row."""
    table, transform, random = Table(source, {"x": column}), intake(kind).transform, np.random.default_rng(0)
    with Batches(reading_of(table, [intake(kind)]), Loading(workers=1)) as batches:
        yield next(batches)[0].numpy()
    with closing(reading_of(table, [intake(kind)]).source) as rows:
        images = [image for (image,) in (rows.item(rows.fetch(index)) for index in range(5))]
    yield np.stack([image if transform is None else transform(image, random, None) for image in images])


def predicted_on(kind: Kind) -> np.ndarray:
    """Return the rows as a predicting net reads them."""
    (blob,), rows = blob_columns(intake(kind), {"x": "c"}), RowRange("the table")
    arrays = arrays_of(pa.record_batch({"c": kind.column}), [blob], rows)
    net_input = NetInput(blob, 0, 5, intake(kind).transform)
    return input_tensor(net_input, arrays, np.random.default_rng(0), rows).numpy()


def stored(kind: Kind, folder: Path) -> str:
    """Return the source that a Spark task makes from a partition."""
    writing = pytest.importorskip("netdsl.spark.tables.store")
    writer = writing.PartitionWriter(str(folder), tuple(blob_columns(intake(kind), {"x": "c"})))
    rows = pa.record_batch({"c": kind.column})
    ((part,),) = [result.to_pylist() for result in writer.write_frame([rows[:3], rows[:0], rows[3:]])]
    if part["problem"]:
        raise DataError(part["problem"])
    assert part["rows"] == 5
    return f"arrow:{folder / part['file']}"


@pytest.mark.parametrize("name", KINDS)
def test_all_ways_of_reading_return_the_same_values(tmp_path: Path, name: str) -> None:
    kind = KINDS[name]
    expected = np.asarray(kind.expected, np.float32)
    np.testing.assert_array_equal(predicted_on(kind), expected)
    sources = [write_arrow(tmp_path / "t.arrow", kind.column)]
    if kind.in_parquet:
        pq.write_table(pa.table({"c": kind.column}), tmp_path / "t.parquet", row_group_size=2)
        sources.append(f"parquet:{tmp_path / 't.parquet'}")
    for batch in (batch for source in sources for batch in trained_on(source, kind)):
        np.testing.assert_array_equal(batch, expected)


@pytest.mark.parametrize("name", KINDS)
def test_rows_without_a_value_are_found(name: str) -> None:
    column = KINDS[name].column
    holes = column.take(pa.array([0, None, 2, 3, None]))
    blob = BlobColumn("x", "c", KINDS[name].shape)
    assert missing_rows(pa.record_batch({"c": column}), [blob]).tolist() == [False] * 5
    assert missing_rows(pa.record_batch({"c": holes}), [blob]).tolist() == [False, True, False, False, True]
    assert missing_rows(pa.record_batch({"c": holes[1:4]}), [blob]).tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("column", "missing"),
    [
        (pa.array([[1.0], [], None, [2.0, None], [3.0]]), [False, False, True, True, False]),
        (pa.array([[[1.0, None]], None, [[2.0]]]), [True, True, False]),
        (pa.array([[1.0, None], None, [2.0, 3.0]], pa.list_(pa.float32(), 2)), [True, True, False]),
        (pa.array([{"bytes": None}, {"bytes": b"x"}]), [True, False]),
        (pa.array([spark_image(BGR[0]), {**spark_image(BGR[0]), "height": -1}], IMAGE), [False, True]),
    ],
)
def test_rows_with_a_null_in_their_value_are_found(column: Any, missing: list[bool]) -> None:
    assert missing_rows(pa.record_batch({"c": column}), [BlobColumn("x", "c")]).tolist() == missing


@pytest.mark.parametrize("name", KINDS)
def test_columns_stored_by_spark_have_the_same_values(tmp_path: Path, name: str) -> None:
    kind = KINDS[name]
    if name == "images of several sizes in lists":
        with pytest.raises(DataError, match=r"column 'c': row 1 of partition 0 has shape .* convert all to one shape"):
            stored(kind, tmp_path)
        return
    for batch in trained_on(stored(kind, tmp_path), kind, "x"):
        np.testing.assert_array_equal(batch, np.asarray(kind.expected, np.float32))


@pytest.mark.parametrize(
    ("column", "what"),
    [
        (pa.array([1, 2, None, 4, 5]), "is null; drop such rows, or fill them"),
        (
            pa.array([[1, 2], [3, 4], [5, None], [7, 8], [9, 9]]),
            "has a null in its array; drop such rows, or fill them",
        ),
        (pa.array([b"\xff\xd8\xff"] * 2 + [None] * 3), "is null; drop such rows, or fill them"),
        (
            pa.array([*[spark_image(BGR[0])] * 2, *[spark_image(BGR[0]) | {"height": -1}] * 3], IMAGE),
            "isn't an image that Spark could read; drop such rows",
        ),
    ],
)
def test_all_ways_of_reading_report_a_bad_row_alike(tmp_path: Path, column: Any, what: str) -> None:
    kind = Kind(column, None)
    path = tmp_path / "t.arrow"
    source = reading_of(Table(write_arrow(path, column), {"x": "c"}), [intake(kind)]).source
    with pytest.raises(DataError) as problem:
        source.fetch(2)
    assert str(problem.value) == f"column 'c': row 2 of {path} {what}"
    with pytest.raises(DataError) as problem:
        predicted_on(kind)
    assert str(problem.value) == f"column 'c': row 2 of the table {what}"
    with pytest.raises(DataError) as problem:
        stored(kind, tmp_path)
    assert str(problem.value) == f"column 'c': row 2 of partition 0 {what}"
