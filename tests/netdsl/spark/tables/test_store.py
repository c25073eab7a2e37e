"""Data that a real Spark's tasks write."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netdsl.data.sources.open_source import open_source
from netdsl.data.tables.table import Arrays, BlobColumn
from netdsl.errors import DataError

pytestmark = pytest.mark.spark

DATA, LABEL = BlobColumn("data", "pixels", (1, 2, 3)), BlobColumn("label", "digit", (1,))


@pytest.fixture
def store_rows() -> Any:
    """Store rows with a function that is imported late, since it needs Spark."""
    from netdsl.spark.tables.store import store_rows

    return store_rows


def rows(count: int) -> list[tuple[list[float], int]]:
    return [([n + each / 8 for each in range(6)], n % 10) for n in range(count)]


def frame(session: Any, count: int, partitions: int) -> Any:
    return session.createDataFrame(rows(count), "pixels array<double>, digit int").repartition(partitions, "digit")


def _stored(blobs: Sequence[BlobColumn]) -> list[BlobColumn]:
    """Return the same blobs with the columns that they have after storing."""
    return [replace(blob, column=blob.name) for blob in blobs]


def read(source: str) -> list[tuple[np.ndarray, ...]]:
    """Return all items, ordered by their first value."""
    opened = open_source(source, blobs=_stored([DATA, LABEL]))
    items = [opened.item(opened.fetch(index)) for index in range(len(opened))]
    opened.close()
    return sorted(items, key=lambda item: float(item[0].ravel()[0]))


def test_every_row_is_stored_once(session: Any, tmp_path: Path, store_rows: Any) -> None:
    found = store_rows(frame(session, 1200, 20), tmp_path / "data", [DATA, LABEL])  # more partitions than labels
    assert found.rows == 1200
    items = read(found.source)
    assert len(items) == 1200
    for (data, label), (pixels, digit) in zip(items, rows(1200), strict=True):
        assert data.shape == (1, 2, 3)
        assert (data.ravel().tolist(), label.tolist()) == (pixels, [digit])
    files = sorted(path.name for path in (tmp_path / "data").iterdir())
    assert files[0] == "_DONE"
    assert all(name.startswith("part-") for name in files[1:]) and len(files) <= 11


def test_stored_data_are_not_requested_again(session: Any, tmp_path: Path, store_rows: Any) -> None:
    frame(session, 30, 2).write.parquet(str(tmp_path / "table"))
    table = session.read.parquet(str(tmp_path / "table"))
    first = store_rows(table, tmp_path / "data", [DATA, LABEL])
    before = read(first.source)
    shutil.rmtree(tmp_path / "table")
    assert store_rows(table, tmp_path / "data", [DATA, LABEL]) == first
    assert all(np.array_equal(a, b) for a, b in zip(read(first.source)[7], before[7], strict=True))


def test_an_interrupted_attempt_leaves_no_files(session: Any, tmp_path: Path, store_rows: Any) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "part-00099.arrow").write_bytes(b"of a driver that is gone")

    def fails_at_first(arrays: Arrays) -> Arrays:
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        if not context.attemptNumber() and arrays["label"].max() > 8:
            raise RuntimeError("once")
        return arrays

    found = store_rows(frame(session, 300, 3), tmp_path / "data", [DATA, LABEL], fails_at_first)
    assert len(read(found.source)) == found.rows == 300
    assert not list((tmp_path / "data").glob(".*"))


def test_vectors_images_and_preprocessed_values_are_stored(session: Any, tmp_path: Path, store_rows: Any) -> None:
    from pyspark.ml.image import ImageSchema
    from pyspark.ml.linalg import Vectors, VectorUDT
    from pyspark.sql.types import IntegerType, StructField, StructType

    image = ("", 2, 3, 1, 0, bytearray(range(6)))
    sparse, dense = Vectors.sparse(6, [1, 4], [2, 3]), Vectors.dense(range(6))
    fields = [StructField("vector", VectorUDT()), StructField("image", ImageSchema.columnSchema)]
    schema = StructType([*fields, StructField("digit", IntegerType())])
    table = session.createDataFrame([(sparse, image, 3), (dense, image, 4)], schema).coalesce(1)
    blobs = [BlobColumn("vector", "vector", (1, 2, 3)), BlobColumn("image", "image", (1, 2, 3)), LABEL]

    def doubled(arrays: Arrays) -> Arrays:
        assert (arrays["image"].dtype, arrays["image"].shape) == (np.uint8, (2, 1, 2, 3))
        return {**arrays, "vector": arrays["vector"] * 2}

    opened = open_source(store_rows(table, tmp_path, blobs, doubled).source, blobs=_stored(blobs))
    vector, image_found, label = opened.item(opened.fetch(0))
    assert vector.ravel().tolist() == [0, 4, 0, 0, 6, 0]
    assert (image_found.dtype, image_found.tobytes(), label.tolist()) == (np.uint8, bytes(range(6)), [3])
    assert opened.item(opened.fetch(1))[0].ravel().tolist() == [0, 2, 4, 6, 8, 10]


def test_images_of_different_sizes_stay_images(session: Any, tmp_path: Path, store_rows: Any) -> None:
    from pyspark.ml.image import ImageSchema
    from pyspark.sql.types import StructField, StructType

    images = [("", 2, 3, 1, 0, bytearray(range(6))), ("", 1, 2, 4, 24, bytearray(range(8)))]
    table = session.createDataFrame(
        [(image,) for image in images], StructType([StructField("image", ImageSchema.columnSchema)])
    ).coalesce(1)
    blobs = [BlobColumn("image", "image")]
    opened = open_source(store_rows(table, tmp_path, blobs).source, blobs=blobs)
    found = [opened.item(opened.fetch(index))[0].tolist() for index in range(2)]
    assert found == [[[[0, 1, 2], [3, 4, 5]]], [[[0, 4]], [[1, 5]], [[2, 6]]]]


def test_elements_of_an_rdd_are_stored(session: Any, tmp_path: Path, store_rows: Any) -> None:
    elements = session.sparkContext.parallelize(rows(50), 3).map(lambda row: (np.array(row[0]), row[1]))
    found = store_rows(elements, tmp_path, [DATA, LABEL])
    assert found.rows == 50
    assert [label.tolist() for _, label in read(found.source)] == [[digit] for _, digit in rows(50)]


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ([([1.0] * 6, None)], "column 'digit': row 0 of partition 0 is null; drop such rows, or fill them"),
        (
            [([1.0] * 6, 1), ([1.0] * 5, 2)],
            r"column 'pixels': row 1 of partition 0 has shape \[5\], but row 0 ",
        ),
        ([], "there are no rows to train or test on"),
    ],
)
def test_bad_rows_are_reported_and_leave_no_files(
    session: Any, tmp_path: Path, store_rows: Any, table: Any, problem: str
) -> None:
    bad = session.createDataFrame(table, "pixels array<double>, digit int").coalesce(1)
    with pytest.raises(DataError, match=problem):
        store_rows(bad, tmp_path / "data", [DATA, LABEL])
    assert not (tmp_path / "data").exists()


def test_partitions_must_agree(session: Any, tmp_path: Path, store_rows: Any) -> None:
    elements = session.sparkContext.parallelize([(np.zeros(6), 1), (np.zeros(5), 2)], 2)
    with pytest.raises(
        DataError, match=r"partition 0 has 'data' of type float 1x2x3, .* but partition 1 has .* float 5"
    ):
        store_rows(elements, tmp_path / "data", [DATA, LABEL])


def test_a_missing_column_is_reported(session: Any, tmp_path: Path, store_rows: Any) -> None:
    with pytest.raises(
        DataError, match=r"no column 'x' for blob 'data'; choose from pixels, digit with .*\{'data': ...\}"
    ):
        store_rows(frame(session, 3, 1), tmp_path / "data", [BlobColumn("data", "x", None)])
    assert not (tmp_path / "data").exists()
