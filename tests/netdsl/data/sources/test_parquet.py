"""Parquet's columns, in files that pyarrow wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from netdsl.data.sources.tables import ParquetSource
from netdsl.data.transforms.decode import Color
from netdsl.errors import DataError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
PIXELS = np.arange(7 * 3 * 4 * 5, dtype=np.uint16).astype(np.uint8).reshape(7, 3, 4, 5)


def png(index: int) -> bytes:
    return bytes(cv2.imencode(".png", PIXELS[index].transpose(1, 2, 0))[1])


def tensors(values: np.ndarray) -> Any:
    kind = pa.fixed_shape_tensor(pa.from_numpy_dtype(values.dtype), values.shape[1:])
    storage = pa.FixedSizeListArray.from_arrays(values.reshape(-1), type=kind.storage_type)
    return pa.ExtensionArray.from_storage(kind, storage)


COLUMNS = {
    "tensor": tensors(PIXELS),
    "nested": PIXELS.astype(float).tolist(),
    "vector": pa.array([[row, row + 0.5] for row in range(7)], pa.list_(pa.float64(), 2)),
    "image": [{"bytes": png(row), "path": f"{row}.png"} for row in range(7)],
    "bytes": [png(row) for row in range(7)],
    "label": pa.array(range(10, 17), pa.int64()),
    "flag": [row % 3 == 0 for row in range(7)],
    "text": ["no number"] * 7,
}


def write(path: Path, *names: str, rows: slice = slice(None), group: int = 3) -> Path:
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
def test_a_column_is_an_array_of_every_item(tmp_path: Path, name: str, expected: np.ndarray) -> None:
    source = ParquetSource(write(tmp_path / "t.parquet", name))
    assert len(source) == 7
    for index in (5, 0, 6, 3, 2):  # in and out of order, over the borders of groups
        (found,) = source.item(source.fetch(index))
        assert (found.dtype, found.shape) == (expected.dtype, expected[index].shape)
        np.testing.assert_array_equal(found, expected[index])


def test_only_chosen_columns_are_read_in_their_order(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", "text", "label", "bytes", "flag")
    source = ParquetSource(path, columns=["bytes", "label"], color=Color.GRAY)
    image, label = source.item(source.fetch(4))
    assert (image.shape, label.item()) == ((1, 4, 5), 14)


def test_a_folder_is_all_its_files_by_name(tmp_path: Path) -> None:
    write(tmp_path / "part-1.parquet", "label", rows=slice(2, 7))
    (tmp_path / "part-0").mkdir()
    write(tmp_path / "part-0/a.parquet", "label", rows=slice(0, 2))
    write(tmp_path / "_hidden.parquet", "text")
    write(tmp_path / "part-2.parquet", "label", rows=slice(0, 0))
    source = ParquetSource(tmp_path)
    assert [source.fetch(index).values[0].item() for index in range(len(source))] == list(range(10, 17))


def test_no_more_is_kept_than_a_limit_allows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netdsl.data.sources.tables._KEPT", 3 * PIXELS[0].nbytes)
    source = ParquetSource(write(tmp_path / "t.parquet", "tensor", group=1))
    for index in range(7):
        source.fetch(index)
        assert len(source._kept) <= 3
    source.close()
    assert not source._kept


def refuse(path: Path, what: str, **options: Any) -> None:
    with pytest.raises(DataError) as problem:
        source = ParquetSource(path, **options)
        for index in range(len(source)):
            source.item(source.fetch(index))
    assert str(path) in str(problem.value)
    assert what in str(problem.value)


def test_columns_that_do_not_work_are_told(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", "text", "label", "image")
    refuse(path, "column 'text' is of type string, which can't be an array; a column has numbers, arrays of numbers,")
    refuse(path, "images or bytes; choose columns out of label, image")
    refuse(path, "no single column is called 'labels'; there are text, label, image", columns=["labels"])


@pytest.mark.parametrize(
    ("values", "row", "what"),
    [
        (pa.array([1, None, 3]), 1, " is null; drop such rows, or fill them"),
        ([{"bytes": b"", "path": "a"}, {"bytes": None, "path": "b"}], 0, ": can't be decoded"),
        ([None, {"bytes": b"", "path": "a"}][::-1], 0, ": can't be decoded"),
        ([[[1.0, 2.0], [3.0]]], 0, " has arrays of 2 and of 1 values in it; all must have as many"),
        ([[1.0, 2.0], [3.0, None]], 1, " has a null in its array"),
        ([[1.0], None], 1, " is null; drop such rows, or fill them"),
        ([b"not an image"], 0, ": can't be decoded"),
    ],
)
def test_bad_values_are_told_with_their_row(tmp_path: Path, values: Any, row: int, what: str) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": values}), path, row_group_size=1)
    refuse(path, f"column 'x': row {row} of {path}{what}")


def test_rows_are_counted_in_their_file(tmp_path: Path) -> None:
    for name in ("a", "b"):
        pq.write_table(pa.table({"x": [1, 2, 3, None if name == "b" else 4]}), tmp_path / f"{name}.parquet")
    refuse(tmp_path, f"column 'x': row 3 of {tmp_path / 'b.parquet'} is null")


def test_other_files_are_told(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"not this, whatever its name says")
    refuse(tmp_path / "t.parquet", "can't be read: ")
    refuse(tmp_path / "gone.parquet", "can't be opened: ")
    (tmp_path / "empty").mkdir()
    refuse(tmp_path / "empty", "has no .parquet files")


def test_a_damaged_group_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", "bytes")
    data = bytearray(path.read_bytes())
    data[4:200] = bytes(196)
    path.write_bytes(data)
    refuse(path, "can't be ")
