"""The inputs of a net, and the columns that they are bound to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from netdsl.data.batches.reading import ImageTransform
from netdsl.data.sources.source import Array
from netdsl.data.transforms.decode import Color
from netdsl.errors import DataError
from netdsl.tables.columns import Rows, Shape, array_of, as_items

if TYPE_CHECKING:  # whoever only writes rows needn't wait for torch
    from netdsl.net.build import Built

Arrays = dict[str, Array]  # rows of values by the names of blobs
Preprocess = Callable[[Arrays], Mapping[str, Any]]  # what a user makes of them


@dataclass(frozen=True)
class BlobColumn:
    """A blob that comes from outside, its column, and what shape an item has, if the net says it."""

    name: str
    column: str
    shape: Shape | None


@dataclass(frozen=True)
class NetInput:
    """How a net takes a blob."""

    blob: BlobColumn
    edge: int
    batch: int
    transform: ImageTransform | None
    color: Color


def inputs_of(built: Built, columns: Mapping[str, str]) -> list[NetInput]:
    """All blobs that come from outside; where no column is named it is called as the blob."""
    found = []
    for node, layer in built.data_layers():
        intake = layer.intake()
        color = Color.GRAY if intake.gray else Color.COLOR
        transforms = [intake.transform, *[None] * len(node.tops)]
        for name, edge, shape, transform in zip(intake.tops, node.tops, intake.shapes, transforms, strict=False):
            blob = BlobColumn(name, columns.get(name, name), shape)
            found.append(NetInput(blob, edge, intake.batch_size, transform, color))
    return found


def arrays_of(batch: Any, blobs: Sequence[BlobColumn], rows: Rows) -> Arrays:
    """What the blobs' columns have in an Arrow batch."""
    return {blob.name: array_of(batch.column(blob.column), blob.shape, rows.of(blob.column)) for blob in blobs}


def check_columns(names: Sequence[str], blobs: Sequence[BlobColumn], hint: str) -> None:
    """A DataError if a blob's column isn't there; the hint says how one names another."""
    for blob in blobs:
        if blob.column not in names:
            raise DataError(
                f"there is no column '{blob.column}' for blob '{blob.name}'; there are {', '.join(names)}; "
                f"say which one it is with {hint.format(blob.name)}"
            )


def preprocessed(arrays: Arrays, blobs: Sequence[BlobColumn], preprocess: Preprocess | None) -> Arrays:
    """What a user's function makes of a batch: as many rows for each blob."""
    if preprocess is None:
        return arrays
    made = preprocess(arrays)
    missing = [blob.name for blob in blobs if blob.name not in made]
    if missing:
        raise DataError(f"what preprocess returns has no '{missing[0]}'; it has {', '.join(made) or 'nothing'}")
    found = {blob.name: np.asarray(made[blob.name]) for blob in blobs}
    for name, array in found.items():
        if array.dtype.kind not in "biufO":
            raise DataError(f"what preprocess returns has no numbers for '{name}', but {array.dtype}")
    lengths = {name: len(array) if array.ndim else 0 for name, array in found.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"what preprocess returns has different numbers of rows: {lengths}")
    return {blob.name: as_items(found[blob.name], blob.shape) for blob in blobs}
