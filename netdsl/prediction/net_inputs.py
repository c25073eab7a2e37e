"""The inputs of a net that predicts, and the user's function that preprocesses rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from netdsl.data.batches.table_binding import blob_columns
from netdsl.data.tables.columns import as_items
from netdsl.data.tables.table import Arrays, BlobColumn
from netdsl.data.transforms.transform import ImageTransform
from netdsl.errors import DataError

if TYPE_CHECKING:  # torch takes seconds to import, and writing rows doesn't need it
    from netdsl.net.graph import Graph

Preprocess = Callable[[Arrays], Mapping[str, Any]]  # a user's function, which gets a batch of rows


@dataclass(frozen=True)
class NetInput:
    """An input of a net: its blob, its edge, its batch size, and the transform of its images."""

    blob: BlobColumn
    edge: int
    batch: int
    transform: ImageTransform | None


def inputs_of(graph: Graph, columns: Mapping[str, str]) -> list[NetInput]:
    """Return all inputs of a net.

    `columns` contains the columns of blobs. The default column has the blob's name.
    """
    from netdsl.layers import data_layer_of

    inputs = []
    for node in graph.nodes:
        layer = data_layer_of(node.layer)
        if layer is None:
            continue
        intake = layer.intake()
        transforms = [intake.transform, *[None] * len(node.tops)]
        for blob, edge, transform in zip(blob_columns(intake, columns), node.tops, transforms, strict=False):
            inputs.append(NetInput(blob, edge, intake.batch_size, transform))
    return inputs


def inputs_from_outside(graph: Graph, columns: Mapping[str, str]) -> list[NetInput]:
    """Return all inputs of a net whose data come from outside.

    Raises a `DataError` if the net has no such input.
    """
    inputs = inputs_of(graph, columns)
    if not inputs:
        raise DataError("no blob of the net comes from outside; begin the net with an Input layer for each column")
    return inputs


def apply_preprocess(arrays: Arrays, blobs: Sequence[BlobColumn], preprocess: Preprocess | None) -> Arrays:
    """Return the arrays that a user's function returns for a batch.

    Raises a `DataError` if a blob is missing or the numbers of rows differ.
    """
    if preprocess is None:
        return arrays
    values = preprocess(arrays)
    missing = [blob.name for blob in blobs if blob.name not in values]
    if missing:
        raise DataError(
            f"preprocess didn't return '{missing[0]}', but {', '.join(values) or 'nothing'}; return an array for "
            "each input"
        )
    returned = {blob.name: np.asarray(values[blob.name]) for blob in blobs}
    for name, array in returned.items():
        if array.dtype.kind not in "biufO":
            raise DataError(
                f"preprocess returned {array.dtype} values for '{name}'; return an array of numbers, as with "
                "np.asarray(values, np.float32)"
            )
    lengths = {name: len(array) if array.ndim else 0 for name, array in returned.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(
            f"preprocess returned different numbers of rows: {lengths}; return a row of each input for each row of "
            "the batch"
        )
    return {blob.name: as_items(returned[blob.name], blob.shape) for blob in blobs}
