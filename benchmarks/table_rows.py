"""Measures rows per second of a table in mapped Arrow files, compared with a Python loop and torch's DataLoader.

All create the same batches of float32 images and labels, in order and shuffled. They take turns in one run. DataLoader
has the rows in memory as tensors. It loads single items, which is its default, and whole batches, which is its fastest
mode.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from random import shuffle as shuffle_rows
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, SequentialSampler, TensorDataset

from netdsl.data.batches.batches import Batches
from netdsl.data.batches.reading import Intake, Loading
from netdsl.data.batches.table_binding import reading_of
from netdsl.data.sources.tables import ArrowSource
from netdsl.data.tables.table import Table

BATCH, FILES, PART, SHAPE = 64, 8, 10000, (1, 28, 28)

BatchIterator = Iterator[tuple[Tensor, ...]]
Method = Callable[[], BatchIterator]


def write_table(folder: Path, rows: int) -> None:
    """Write images and labels with a file for each partition, in record batches of Spark's size."""
    random = np.random.default_rng(0)
    for number in range(FILES):
        images = random.integers(0, 256, (rows // FILES, *SHAPE), np.uint8)
        columns = {
            "data": pa.FixedShapeTensorArray.from_numpy_ndarray(images),
            "label": pa.array(random.integers(0, 10, len(images))),
        }
        table = pa.table(columns)
        with (
            pa.OSFile(str(folder / f"part-{number}.arrow"), "wb") as file,
            pa.ipc.new_file(file, table.schema) as writer,
        ):
            writer.write_table(table, max_chunksize=PART)


def ours(folder: Path, shuffle: bool) -> BatchIterator:
    """Return netdsl's batches, as for training from a table."""
    intakes = [Intake(("data",), BATCH, (SHAPE,)), Intake(("label",), BATCH, ((1,),))]
    with Batches(reading_of(Table(f"arrow:{folder}", shuffle=shuffle), intakes), Loading(workers=1)) as batches:
        yield from batches


def by_row(folder: Path, shuffle: bool) -> BatchIterator:
    """Yield batches from a Python loop over the rows of the mapped files."""
    rows: list[tuple[Any, Any]] = []
    for path in sorted(folder.glob("*.arrow")):
        with pa.memory_map(str(path)) as file:
            for part in pa.ipc.open_file(file).read_all().to_batches():
                images, labels = part.column("data").to_numpy_ndarray(), part.column("label").to_numpy()
                rows += zip(images, labels, strict=True)
    while True:
        if shuffle:
            shuffle_rows(rows)
        for start in range(0, len(rows) - BATCH + 1, BATCH):
            data, label = np.empty((BATCH, *SHAPE), np.float32), np.empty((BATCH, 1), np.float32)
            for index, row in enumerate(rows[start : start + BATCH]):
                data[index], label[index] = row
            yield torch.from_numpy(data), torch.from_numpy(label)


def data_loader(folder: Path, shuffle: bool, *, whole_batches: bool) -> BatchIterator:
    """Yield batches of a DataLoader over tensors in memory."""
    source = ArrowSource(folder, columns=["data", "label"])
    arrays = source.take(np.arange(len(source)))
    assert arrays is not None
    rows = TensorDataset(*(torch.from_numpy(array) for array in arrays))
    sampler = RandomSampler(rows) if shuffle else SequentialSampler(rows)
    loader = (
        DataLoader(rows, sampler=BatchSampler(sampler, BATCH, drop_last=True), batch_size=None)
        if whole_batches
        else DataLoader(rows, BATCH, sampler=sampler, drop_last=True)
    )
    while True:
        for images, labels in loader:
            yield images.float(), labels.float()


def rate(batches: BatchIterator, count: int) -> float:
    """Return the rows per second, without the batches that were prefetched before the clock started."""
    for _ in islice(batches, 5):
        pass
    start = time.perf_counter()
    for _ in islice(batches, count):
        pass
    return count * BATCH / (time.perf_counter() - start)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=60000)
    parser.add_argument("--batches", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    names = ("rows/s", "by row", "loader", "whole")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder, arguments.rows)
        print(
            f"{'':<10}"
            + "".join(f"{value:>12}" for value in names)
            + "".join(f"{'/' + value:>10}" for value in names[1:])
        )
        for shuffle in (False, True):
            runs = []
            for _ in range(arguments.rounds):
                methods = [ours(folder, shuffle), by_row(folder, shuffle)]
                methods += [
                    data_loader(folder, shuffle, whole_batches=whole_batches) for whole_batches in (False, True)
                ]
                runs.append([rate(method, arguments.batches) for method in methods])
            medians = [statistics.median(column) for column in zip(*runs, strict=True)]
            print(
                f"{'shuffled' if shuffle else 'in order':<10}"
                + "".join(f"{value:>12.0f}" for value in medians)
                + "".join(f"{medians[0] / value:>10.2f}" for value in medians[1:]),
                flush=True,
            )


if __name__ == "__main__":
    main()
