"""Elements of an RDD as arrays, many at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from netdsl.data.types import Array
from netdsl.errors import DataError
from netdsl.prediction.blobs import Arrays, BlobColumn
from netdsl.tables.arrow import arrow
from netdsl.tables.columns import Rows, array_of, as_items

_TOGETHER = 512  # elements of a batch


def batches_of(elements: Iterable[Any], blobs: Sequence[BlobColumn], partition: int) -> Iterator[Arrays]:
    """Batches of the elements of a partition.

    An element is a row or a dict, with values by name; a tuple, with values in the order of the blobs; or the value of
    the only blob.
    """
    rest, first = iter(elements), 0
    while together := list(islice(rest, _TOGETHER)):
        values = zip(*(_values(element, blobs) for element in together), strict=True)
        yield {
            blob.name: _stacked(each, blob, Rows(blob.column, f"partition {partition}", first))
            for blob, each in zip(blobs, values, strict=True)
        }
        first += len(together)


def _values(element: Any, blobs: Sequence[BlobColumn]) -> list[Any]:
    named = element.asDict() if hasattr(element, "asDict") else element
    if isinstance(named, Mapping):
        missing = [blob.column for blob in blobs if blob.column not in named]
        if missing:
            raise DataError(f"an element of the RDD has no '{missing[0]}'; it has {', '.join(map(str, named))}")
        return [named[blob.column] for blob in blobs]
    values = list(element) if isinstance(element, tuple) else [element]
    if len(values) != len(blobs):
        names = ", ".join(blob.name for blob in blobs)
        raise DataError(f"an element of the RDD has {len(values)} values; wanted are {names}")
    return values


def _stacked(values: Sequence[Any], blob: BlobColumn, rows: Rows) -> Array:
    missing = np.array([value is None for value in values])
    rows.check(missing, "is None; drop such elements, or fill them")
    if isinstance(values[0], (bytes, bytearray)):
        return array_of(arrow().array(values, arrow().binary()), blob.shape, rows)
    arrays = [np.asarray(value.toArray() if hasattr(value, "toArray") else value) for value in values]
    rows.check(np.array([each.dtype.kind not in "biuf" for each in arrays]), "has no numbers")
    rows.check(np.array([each.shape != arrays[0].shape for each in arrays]), "has another shape than those before")
    return as_items(np.stack(arrays), blob.shape)
