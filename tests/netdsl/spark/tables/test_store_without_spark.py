"""Partitions written without a Spark session."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from netdsl.data.sources.open_source import open_source
from netdsl.data.tables.table import Arrays, BlobColumn
from netdsl.prediction.invalid_rows import InvalidRows

BLOBS = [BlobColumn("data", "pixels", (1, 2, 3)), BlobColumn("label", "digit", (1,))]
STORED = [BlobColumn(blob.name, blob.name, blob.shape) for blob in BLOBS]
PIXELS = np.arange(6, dtype=np.float64)


def test_a_function_must_return_numbers_or_bytes(tmp_path: Path) -> None:
    from netdsl.spark.tables.store import PartitionWriter

    def preprocess(arrays: Arrays) -> Arrays:
        return {**arrays, "label": np.array([{}] * len(arrays["label"]), object)}

    (part,) = PartitionWriter(str(tmp_path), tuple(BLOBS), preprocess).write_elements([(PIXELS, 1)])
    problem = "column 'digit': row 0 of partition 0 is neither an array of numbers nor the bytes of an image; "
    assert part.problem == problem + "convert the column to arrays of floats or to the bytes of image files"


def test_rows_without_finite_values_are_an_error_or_left_out(tmp_path: Path) -> None:
    from netdsl.spark.tables.store import PartitionWriter

    pixels = [PIXELS.tolist(), None, [np.nan, *PIXELS[1:]], (PIXELS + 3).tolist(), [None, *PIXELS[1:]]]
    batch = pa.RecordBatch.from_pydict({"pixels": pixels, "digit": [0.0, 1.0, 2.0, 3.0, 4.0]})
    batches = [batch, batch.slice(1, 1), batch.slice(2, 1)]  # the other workers have no rows to learn from
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


def test_a_machine_that_doesnt_see_the_folder_sends_the_same_file(tmp_path: Path) -> None:
    from netdsl.spark.tables.store import PartitionWriter, received_parts

    elements = [(PIXELS * n, n) for n in range(5)]
    seen, elsewhere, received = (tmp_path / name for name in ("seen", "elsewhere", "received"))
    seen.mkdir(), received.mkdir()
    (written,) = PartitionWriter(str(seen), tuple(BLOBS)).write_elements(elements)
    writer = PartitionWriter(str(elsewhere), tuple(BLOBS))
    (unseen,) = writer.write_elements(elements)
    assert unseen.unseen and not unseen.rows and not elsewhere.exists()
    (part,) = received_parts(replace(writer, sends=True).write_elements(elements), received)
    assert (part.rows, part.columns) == (written.rows, written.columns) == (5, part.columns)
    assert (received / part.file).read_bytes() == (seen / written.file).read_bytes()
