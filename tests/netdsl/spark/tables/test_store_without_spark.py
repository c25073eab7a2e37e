"""Elements of an RDD as arrays, and partitions written without a Spark session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from netdsl.data.sources.open_source import open_source
from netdsl.data.tables.table import Arrays, BlobColumn
from netdsl.errors import DataError
from netdsl.prediction.invalid_rows import InvalidRows

BLOBS = [BlobColumn("data", "pixels", (1, 2, 3)), BlobColumn("label", "digit", (1,))]
STORED = [BlobColumn(blob.name, blob.name, blob.shape) for blob in BLOBS]
PIXELS = np.arange(6, dtype=np.float64)


def batches_of(elements: Iterable[Any], blobs: Sequence[BlobColumn], part: str = "partition 7") -> list[Arrays]:
    """The batches, without their places."""
    from netdsl.spark.tables.elements import element_batches

    return [batch.arrays for batch in element_batches(elements, blobs, part)]


@pytest.mark.parametrize("form", ["tuple", "dict", "row"])
def test_elements_of_all_forms_are_batches(form: str) -> None:
    Row = pytest.importorskip("pyspark.sql").Row  # noqa: N806
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


def test_elements_can_have_what_arrow_has_columns_of() -> None:
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
        ([(PIXELS, "1")], "column 'digit': row 0 of partition 7 has no numbers"),
        (
            [(PIXELS, Decimal(1)), (PIXELS, "x")],
            "column 'digit': row 0 of partition 7 or one after",
        ),
        ([(PIXELS,)], "an element of the RDD has 1 values; wanted are data, label"),
        ([{"pixels": PIXELS}], "an element of the RDD has no 'digit'; it has pixels"),
    ],
)
def test_what_is_wrong_is_told(elements: list[Any], problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        batches_of(elements, BLOBS)


def test_what_a_function_returns_must_be_numbers_or_bytes(tmp_path: Path) -> None:
    from netdsl.spark.tables.store import PartitionWriter

    def preprocess(arrays: Arrays) -> Arrays:
        return {**arrays, "label": np.array([{}] * len(arrays["label"]), object)}

    (part,) = PartitionWriter(str(tmp_path), tuple(BLOBS), preprocess).write_elements([(PIXELS, 1)])
    assert (
        part.problem == "column 'digit': row 0 of partition 0 is neither an array of numbers nor the bytes of an image"
    )


def test_rows_without_finite_values_are_an_error_or_left_out(tmp_path: Path) -> None:
    from netdsl.spark.tables.store import PartitionWriter

    pixels = [PIXELS.tolist(), None, [np.nan, *PIXELS[1:]], (PIXELS + 3).tolist(), [None, *PIXELS[1:]]]
    batch = pa.RecordBatch.from_pydict({"pixels": pixels, "digit": [0.0, 1.0, 2.0, 3.0, 4.0]})
    batches = [batch, batch.slice(1, 1), batch.slice(2, 1)]  # the others have nothing to learn from
    for first, problem in (
        (0, "row 1 of partition 0 is null"),
        (2, "row 0 of partition 0 has a value that isn't fini"),
    ):
        (part,) = next(PartitionWriter(str(tmp_path), tuple(BLOBS)).write_frame([batch.slice(first, 2)])).to_pylist()
        assert part["problem"].startswith(f"column 'pixels': {problem}")
    for invalid in (InvalidRows.SKIP, InvalidRows.KEEP):
        writer = PartitionWriter(str(tmp_path), tuple(BLOBS), invalid=invalid)
        (part,) = next(writer.write_frame(batches)).to_pylist()
        assert (part["rows"], part["skipped"], part["problem"]) == (2, 5, "")
        with closing(open_source(f"arrow:{tmp_path / part['file']}", blobs=STORED)) as source:
            assert [source.item(source.fetch(row))[1].tolist() for row in range(2)] == [[0], [3]]


def test_elements_without_finite_values_are_left_out(tmp_path: Path) -> None:
    from netdsl.spark.tables.store import PartitionWriter

    elements = [(PIXELS, 0), (None, 1), (PIXELS, float("nan")), (PIXELS, 3)]
    (part,) = PartitionWriter(str(tmp_path), tuple(BLOBS)).write_elements(elements)
    assert "row 1 of partition 0 is None" in part.problem
    (part,) = PartitionWriter(str(tmp_path), tuple(BLOBS), invalid=InvalidRows.SKIP).write_elements(elements)
    assert (part.rows, part.skipped) == (2, 2)
    (part,) = PartitionWriter(str(tmp_path), tuple(BLOBS), invalid=InvalidRows.SKIP).write_elements(elements[1:2])
    assert (part.rows, part.skipped, part.problem) == (0, 1, "")


def test_images_of_different_sizes_in_an_rdd_stay_images(tmp_path: Path) -> None:
    from netdsl.spark.tables.store import PartitionWriter

    sizes = [(2, 3), (4, 5)]
    images = [
        {"height": height, "width": width, "nChannels": 1, "mode": 0, "data": bytes(range(height * width))}
        for height, width in sizes
    ]
    elements = [(image, number) for number, image in enumerate(images)]
    (part,) = PartitionWriter(str(tmp_path), tuple(BLOBS)).write_elements(elements)
    with closing(open_source(f"arrow:{tmp_path / part.file}", blobs=STORED)) as source:
        found = [source.item(source.fetch(row))[0] for row in range(2)]
    assert [(image.dtype, image.shape) for image in found] == [(np.uint8, (1, *size)) for size in sizes]
    assert found[1].ravel().tolist() == list(range(20))
