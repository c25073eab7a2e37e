"""Columns of every kind, of which training, predicting and Spark's tasks make the same values."""

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
from netdsl.data.transforms.transform import Transform
from netdsl.errors import DataError
from netdsl.prediction.net_inputs import NetInput
from netdsl.prediction.predictor import input_tensor
from netdsl.tables.binding import BlobColumn, arrays_of, missing_rows
from netdsl.tables.column_readers import Shape
from netdsl.tables.columns import RowRange
from netdsl.tables.table import Table

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
CROP = pb.TransformationParameter(crop_size=3, scale=0.5)
RESIZE = pb.TransformationParameter(resize_param=[pb.ResizeParameter(prob=1, height=2, width=3)])


def spark_image(image: np.ndarray) -> dict[str, Any]:
    channels, height, width = image.shape
    data = image.transpose(1, 2, 0).tobytes()
    return {"height": height, "width": width, "nChannels": channels, "mode": 8 * (channels - 1), "data": data}


def png(image: np.ndarray) -> bytes:
    return bytes(cv2.imencode(".png", image.transpose(1, 2, 0))[1])


def without_color(image: np.ndarray) -> np.ndarray:
    gray: np.ndarray = cv2.imdecode(np.frombuffer(png(image), np.uint8), cv2.IMREAD_GRAYSCALE)
    return gray[None]


def resized(image: np.ndarray) -> np.ndarray:
    pixels: np.ndarray = cv2.resize(np.ascontiguousarray(image.transpose(1, 2, 0)), (3, 2))
    return pixels.transpose(2, 0, 1)


def cut(row: int) -> np.ndarray:
    """An image of a size that depends on its row."""
    return BGR[row, :, : 4 + row % 3, : 5 + row % 2]


def dictionary(values: Any) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array([4, 3, 2, 1, 0]), pa.array(values))


@dataclass(frozen=True)
class Kind:
    """A column, how a blob takes it, and the values that it then has."""

    column: Any
    expected: Any
    shape: Shape | None = None
    transform: pb.TransformationParameter | None = None
    gray: bool = False
    in_parquet: bool = True  # whether Parquet can have it


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
    "image files in a dictionary": Kind(dictionary([png(image) for image in BGR]), BGR[::-1]),
    "Spark's images": Kind(pa.array([spark_image(image) for image in BGR], IMAGE), BGR),
    "Spark's images with transparency": Kind(pa.array([spark_image(image) for image in PIXELS], IMAGE), BGR),
    "Spark's images without colours": Kind(pa.array([spark_image(image) for image in GRAY], IMAGE), GRAY, (1, 6, 7)),
    "Spark's images of several sizes": Kind(
        pa.array([spark_image(cut(row)) for row in range(5)], IMAGE),
        [resized(cut(row)) for row in range(5)],
        (3, 2, 3),
        RESIZE,
    ),
    "values as bytes": Kind(pa.array([image.tobytes() for image in BGR]), BGR, (3, 6, 7)),
    "values as bytes of one length": Kind(pa.array([image.tobytes() for image in BGR], pa.binary(126)), BGR, (3, 6, 7)),
    "image files": Kind(pa.array([png(image) for image in BGR]), BGR, (3, 6, 7)),
    "image files, large": Kind(pa.array([png(image) for image in BGR], pa.large_binary()), BGR),
    "image files without colours": Kind(
        pa.array([png(image) for image in BGR]), [without_color(image) for image in BGR], (1, 6, 7), gray=True
    ),
    "image files of several sizes": Kind(
        pa.array([png(cut(row)) for row in range(5)]), [resized(cut(row)) for row in range(5)], (3, 2, 3), RESIZE
    ),
    "image files as Hugging Face has them": Kind(
        pa.array([{"bytes": png(image), "path": "a.png"} for image in BGR]), BGR[:, :, 1:4, 2:5] / 2, (3, 3, 3), CROP
    ),
    "values as bytes in a struct": Kind(pa.array([{"bytes": image.tobytes()} for image in BGR]), BGR, (3, 6, 7)),
}


def intake(kind: Kind) -> Intake:
    transform = None if kind.transform is None else Transform(kind.transform, train=False)
    return Intake(("x",), 5, (kind.shape,), transform, kind.gray)


def write_arrow(path: Path, column: Any) -> str:
    """The rows in two parts."""
    rows = pa.record_batch({"c": column})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_batch(rows[:3])
        writer.write_batch(rows[3:])
    return f"arrow:{path}"


def trained_on(source: str, kind: Kind, column: str = "c") -> Iterator[np.ndarray]:
    """A batch that is read for training: at once if that can be, and row by row."""
    table, transform, random = Table(source, {"x": column}), intake(kind).transform, np.random.default_rng(0)
    with Batches(reading_of(table, [intake(kind)]), Loading(workers=1)) as batches:
        yield next(batches)[0].numpy()
    with closing(reading_of(table, [intake(kind)]).source) as rows:
        images = [image for (image,) in (rows.item(rows.fetch(index)) for index in range(5))]
    yield np.stack([image if transform is None else transform(image, random, None) for image in images])


def predicted_on(kind: Kind) -> np.ndarray:
    """The rows as a net that predicts takes them."""
    (blob,), rows = blob_columns(intake(kind), {"x": "c"}), RowRange("the table")
    arrays = arrays_of(pa.record_batch({"c": kind.column}), [blob], rows)
    net_input = NetInput(blob, 0, 5, intake(kind).transform)
    return input_tensor(net_input, arrays, np.random.default_rng(0), rows).numpy()


def stored(kind: Kind, folder: Path) -> str:
    """The source that a task of Spark makes of a partition."""
    writing = pytest.importorskip("netdsl.spark.tables.store")
    writer = writing.PartitionWriter(str(folder), tuple(blob_columns(intake(kind), {"x": "c"})))
    rows = pa.record_batch({"c": kind.column})
    ((part,),) = [result.to_pylist() for result in writer.write_frame([rows[:3], rows[:0], rows[3:]])]
    if part["problem"]:
        raise DataError(part["problem"])
    assert part["rows"] == 5
    return f"arrow:{folder / part['file']}"


@pytest.mark.parametrize("name", KINDS)
def test_all_make_the_same_values(tmp_path: Path, name: str) -> None:
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
def test_what_spark_stores_is_the_same(tmp_path: Path, name: str) -> None:
    kind = KINDS[name]
    if name == "images of several sizes in lists":
        with pytest.raises(DataError, match=r"column 'c': row 1 of partition 0 has shape .* bring all to one"):
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
            "is no image that Spark could read; drop such rows",
        ),
    ],
)
def test_all_tell_the_same_of_a_bad_row(tmp_path: Path, column: Any, what: str) -> None:
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
