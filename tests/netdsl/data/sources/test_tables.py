"""Arrow and Parquet tables in files that pyarrow wrote."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from netdsl.data.sources.table_files import TableFiles, TableFormat
from netdsl.data.sources.tables import ArrowSource, ParquetSource
from netdsl.data.transforms.decode import Color
from netdsl.errors import DataError
from tests.small_data import png_of

PIXELS = np.arange(7 * 3 * 4 * 5, dtype=np.uint16).astype(np.uint8).reshape(7, 3, 4, 5)


def spark_image(pixels: np.ndarray) -> dict[str, Any]:
    channels, height, width = pixels.shape
    data = pixels.transpose(1, 2, 0).tobytes()
    return {"origin": "", "height": height, "width": width, "nChannels": channels, "mode": 16, "data": data}


COLUMNS = {
    "tensor": pa.FixedShapeTensorArray.from_numpy_ndarray(PIXELS),
    "nested": pa.array(PIXELS.astype(float).tolist()),
    "vector": pa.array([[row, row + 0.5] for row in range(7)], pa.list_(pa.float64(), 2)),
    "bytes": pa.array([png_of(PIXELS[row]) for row in range(7)]),
    "image": pa.array([{"bytes": png_of(PIXELS[row]), "path": "p"} for row in range(7)]),
    "spark": pa.array([spark_image(PIXELS[row]) for row in range(7)]),
    "label": pa.array(range(10, 17), pa.int64()),
    "flag": pa.array([row % 3 == 0 for row in range(7)]),
    "text": pa.array(["no number"] * 7),
}
BATCH = pa.record_batch(COLUMNS)


def write_arrow(path: Path, *names: str, batches: Sequence[slice] = (slice(0, 3), slice(3, 3), slice(3, 7))) -> Path:
    rows = BATCH.select(names)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
        for each in batches:
            writer.write_batch(rows[each])
    return path


@pytest.mark.parametrize(
    ("name", "whole", "expected"),
    [
        ("tensor", True, PIXELS),
        ("nested", True, PIXELS.astype(np.float32)),
        ("vector", True, np.array([[row, row + 0.5] for row in range(7)], np.float32)),
        ("bytes", False, PIXELS),
        ("image", False, PIXELS),
        ("spark", True, PIXELS),
        ("label", True, np.arange(10, 17, dtype=np.float32)),
        ("flag", True, np.array([1, 0, 0, 1, 0, 0, 1], np.float32)),
    ],
)
def test_each_arrow_column_is_an_array_of_the_items(
    tmp_path: Path, name: str, whole: bool, expected: np.ndarray
) -> None:
    source = ArrowSource(write_arrow(tmp_path / "t.arrow", name))
    assert len(source) == 7
    indices = np.array([5, 0, 6, 3, 2, 5])
    for index in indices:
        (found,) = source.item(source.fetch(index))
        assert (found.dtype, found.shape) == (expected.dtype, expected[index].shape)
        np.testing.assert_array_equal(found, expected[index])
    taken = source.take(indices)
    assert (taken is not None) == whole
    if taken is not None:
        np.testing.assert_array_equal(taken[0], expected[indices])


def test_rows_are_not_copied_before_they_are_read(tmp_path: Path) -> None:
    before = pa.total_allocated_bytes()
    source = ArrowSource(write_arrow(tmp_path / "t.arrow", "tensor", "label"))
    assert source.take(np.array([4])) is not None
    assert pa.total_allocated_bytes() - before < PIXELS.nbytes
    assert not any(values.whole.flags.owndata for values in source.columns(0))


def test_an_arrow_folder_is_read_in_the_order_of_file_names(tmp_path: Path) -> None:
    write_arrow(tmp_path / "part-2.arrow", "text", "label", batches=[slice(4, 7)])
    write_arrow(tmp_path / "part-0.arrow", "label", batches=[slice(0, 4)])
    write_arrow(tmp_path / "part-1.arrow", "label", batches=[])
    write_arrow(tmp_path / ".part-3.arrow", "label")
    (tmp_path / "_DONE").touch()
    source = ArrowSource(tmp_path, columns=["label"])
    taken = source.take(np.arange(7))
    assert taken is not None
    assert taken[0].tolist() == list(range(10, 17))
    assert [source.item(source.fetch(index))[0].item() for index in range(7)] == list(range(10, 17))
    source.close()


def test_only_chosen_arrow_columns_are_read_in_that_order(tmp_path: Path) -> None:
    path = write_arrow(tmp_path / "t.arrow", "text", "label", "bytes", "flag")
    source = ArrowSource(path, columns=["bytes", "label"], color=Color.GRAY)
    image, label = source.item(source.fetch(4))
    assert (image.shape, label.item()) == ((1, 4, 5), 14)


def test_rows_of_different_shapes_are_read_one_by_one(tmp_path: Path) -> None:
    rows = pa.record_batch({"x": [[1], [2, 3], [4]]})
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_batch(rows)
        writer.write_batch(rows[2:])
    source = ArrowSource(tmp_path)
    assert source.take(np.array([0, 2])) is None
    assert [source.item(source.fetch(index))[0].tolist() for index in range(4)] == [[1], [2, 3], [4], [4]]
    assert source.take(np.array([3]))[0].tolist() == [[4]]


def refuse_arrow(path: Path, what: str, **options: Any) -> None:
    with pytest.raises(DataError) as problem:
        source = ArrowSource(path, **options)
        assert source.take(np.arange(len(source))) is None
        for index in range(len(source)):
            source.item(source.fetch(index))
    assert str(path) in str(problem.value)
    assert what in str(problem.value)


def test_unreadable_files_are_reported(tmp_path: Path) -> None:
    path = write_arrow(tmp_path / "t.arrow", "text", "label")
    refuse_arrow(path, "column 'text' is of type string, which can't be an array; use a column of")
    refuse_arrow(path, "images or bytes; choose from label")
    refuse_arrow(path, "there isn't exactly one column 'labels'; choose from text, label", columns=["labels"])
    data = path.read_bytes()
    for damaged in (data[:-30], b"", b"no table"):
        path.write_bytes(damaged)
        refuse_arrow(path, "can't be read: ")
    refuse_arrow(tmp_path / "gone.arrow", "can't be opened: ")
    (tmp_path / "empty").mkdir()
    refuse_arrow(tmp_path / "empty", "has no .arrow files")


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (pa.array([1, None, 3]), "is null; drop such rows, or fill them"),
        (pa.array([[1, 2], None]), "is null; drop such rows, or fill them"),
        (pa.array([[1, 2], [1, None]]), "has a null in its array"),
        (pa.array([[[1], [2]], [[1], [2, 3]]]), "has arrays of 1 and of 2 values"),
        (
            pa.array([spark_image(PIXELS[0]), spark_image(PIXELS[0]) | {"mode": 21}]),
            "is an image whose values aren't of 8 bits",
        ),
        (
            pa.ExtensionArray.from_storage(
                pa.fixed_shape_tensor(pa.int8(), (2, 1)), pa.array([[1, 2], None], pa.list_(pa.int8(), 2))
            ),
            "is null; drop such rows, or fill them",
        ),
        (
            pa.ExtensionArray.from_storage(
                pa.fixed_shape_tensor(pa.int8(), (2, 1)), pa.array([[1, 2], [1, None]], pa.list_(pa.int8(), 2))
            ),
            "has a null in its array",
        ),
    ],
)
def test_a_row_without_a_value_is_reported(tmp_path: Path, values: Any, what: str) -> None:
    rows = pa.record_batch({"x": values})
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_batch(rows)
    refuse_arrow(tmp_path / "t.arrow", f"column 'x': row 1 of {tmp_path / 't.arrow'} {what}")


def test_rows_outside_of_their_memory_are_refused_and_do_not_end_the_process(tmp_path: Path) -> None:
    path, rows = tmp_path / "t.arrow", pa.record_batch({"x": pa.array([[row, row] for row in range(6)]), "y": range(6)})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_batch(rows)
    ends = np.arange(0, 14, 2, dtype=np.int32)
    for wrong in (1 << 28, -5, 9):
        changed = ends.copy()
        changed[3] = wrong
        path.write_bytes(path.read_bytes().replace(ends.tobytes(), changed.tobytes()))
        refuse_arrow(path, "can't be read: ")
        table = TableFiles(TableFormat.ARROW, str(path))
        with pytest.raises(DataError, match=r"t\.arrow: can't be read: "):
            list(table.batches(2))
        source = ArrowSource(path, columns=["y"])  # unread columns aren't checked
        assert source.take(np.array([2]))[0].tolist() == [2]
        path.write_bytes(path.read_bytes().replace(changed.tobytes(), ends.tobytes()))
    assert ArrowSource(path, columns=["x"]).take(np.array([2]))[0].tolist() == [[2, 2]]


def test_the_first_row_of_a_table_of_tensors_is_read(tmp_path: Path) -> None:
    table = TableFiles(TableFormat.ARROW, str(write_arrow(tmp_path / "t.arrow", "tensor", "label")))
    assert (table.first().num_rows, table.none().num_rows) == (3, 0)
    assert table.none().schema == table.schema


def write_parquet(path: Path, *names: str, rows: slice = slice(None), group: int = 3) -> Path:
    pq.write_table(pa.table({name: COLUMNS[name] for name in names})[rows], path, row_group_size=group)
    return path


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tensor", PIXELS),
        ("nested", PIXELS.astype(np.float32)),
        ("vector", np.array([[row, row + 0.5] for row in range(7)], np.float32)),
        ("image", PIXELS),
        ("bytes", PIXELS),
        ("label", np.arange(10, 17, dtype=np.float32)),
        ("flag", np.array([1, 0, 0, 1, 0, 0, 1], np.float32)),
    ],
)
def test_each_parquet_column_is_an_array_of_the_items(tmp_path: Path, name: str, expected: np.ndarray) -> None:
    source = ParquetSource(write_parquet(tmp_path / "t.parquet", name))
    assert len(source) == 7
    for index in (5, 0, 6, 3, 2):  # in and out of order, across the borders of groups
        (found,) = source.item(source.fetch(index))
        assert (found.dtype, found.shape) == (expected.dtype, expected[index].shape)
        np.testing.assert_array_equal(found, expected[index])


def test_only_chosen_parquet_columns_are_read_in_that_order(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "t.parquet", "text", "label", "bytes", "flag")
    source = ParquetSource(path, columns=["bytes", "label"], color=Color.GRAY)
    image, label = source.item(source.fetch(4))
    assert (image.shape, label.item()) == ((1, 4, 5), 14)


def test_a_parquet_folder_is_read_in_the_order_of_file_names(tmp_path: Path) -> None:
    write_parquet(tmp_path / "part-1.parquet", "label", rows=slice(2, 7))
    (tmp_path / "part-0").mkdir()
    write_parquet(tmp_path / "part-0/a.parquet", "label", rows=slice(0, 2))
    write_parquet(tmp_path / "_hidden.parquet", "text")
    write_parquet(tmp_path / "part-2.parquet", "label", rows=slice(0, 0))
    source = ParquetSource(tmp_path)
    assert [source.fetch(index).values[0].item() for index in range(len(source))] == list(range(10, 17))


def test_the_cache_stays_below_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netdsl.data.sources.tables._KEPT", 3 * PIXELS[0].nbytes)
    source = ParquetSource(write_parquet(tmp_path / "t.parquet", "tensor", group=1))
    for index in range(7):
        source.fetch(index)
        assert len(source._kept) <= 3
    source.close()
    assert not source._kept


def refuse_parquet(path: Path, what: str, **options: Any) -> None:
    with pytest.raises(DataError) as problem:
        source = ParquetSource(path, **options)
        for index in range(len(source)):
            source.item(source.fetch(index))
    assert str(path) in str(problem.value)
    assert what in str(problem.value)


def test_unusable_columns_are_reported(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "t.parquet", "text", "label", "image")
    refuse_parquet(
        path, "column 'text' is of type string, which can't be an array; use a column of numbers, arrays of numbers,"
    )
    refuse_parquet(path, "images or bytes; choose from label, image")
    refuse_parquet(path, "there isn't exactly one column 'labels'; choose from text, label, image", columns=["labels"])


@pytest.mark.parametrize(
    ("values", "row", "what"),
    [
        (pa.array([1, None, 3]), 1, " is null; drop such rows, or fill them"),
        ([{"bytes": b"", "path": "a"}, {"bytes": None, "path": "b"}], 0, ": can't be decoded"),
        ([None, {"bytes": b"", "path": "a"}][::-1], 0, ": can't be decoded"),
        ([[[1.0, 2.0], [3.0]]], 0, " has arrays of 2 and of 1 values; give all arrays the same length"),
        ([[1.0, 2.0], [3.0, None]], 1, " has a null in its array"),
        ([[1.0], None], 1, " is null; drop such rows, or fill them"),
        ([b"not an image"], 0, ": can't be decoded"),
    ],
)
def test_bad_values_are_reported_with_their_row(tmp_path: Path, values: Any, row: int, what: str) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": values}), path, row_group_size=1)
    refuse_parquet(path, f"column 'x': row {row} of {path}{what}")


def test_errors_count_rows_within_their_file(tmp_path: Path) -> None:
    for name in ("a", "b"):
        pq.write_table(pa.table({"x": [1, 2, 3, None if name == "b" else 4]}), tmp_path / f"{name}.parquet")
    refuse_parquet(tmp_path, f"column 'x': row 3 of {tmp_path / 'b.parquet'} is null")


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"not this, whatever its name says")
    refuse_parquet(tmp_path / "t.parquet", "can't be read: ")
    refuse_parquet(tmp_path / "gone.parquet", "can't be opened: ")
    (tmp_path / "empty").mkdir()
    refuse_parquet(tmp_path / "empty", "has no .parquet files")


def test_a_damaged_group_is_reported(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "t.parquet", "bytes")
    data = bytearray(path.read_bytes())
    data[4:200] = bytes(196)
    path.write_bytes(data)
    refuse_parquet(path, "can't be ")
