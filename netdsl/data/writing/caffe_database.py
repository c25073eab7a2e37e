"""The items of a data layer as an LMDB of Datum records, for Caffe to read in the order of the layer's first epoch."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from netdsl.data.batches.reading import Reading
from netdsl.data.sources.class_names import classes_of
from netdsl.data.sources.order import Order
from netdsl.data.sources.source import Item
from netdsl.data.types import Array
from netdsl.data.writing.databases import lmdb_writer
from netdsl.data.writing.example import Example
from netdsl.data.writing.map_items import map_items
from netdsl.errors import DataError


def write_caffe_database(reading: Reading, prepare: Callable[[Array], Array], path: Path, *, seed: int = 0) -> None:
    """Write all items with prepared images. Each key is a position, since Caffe reads by the order of keys."""
    source = reading.source
    order = Order(reading.groups or (len(source),), reading.shuffle, seed)

    def example(position: int, fetched: Any) -> Example:
        return Example(position, "", _with_label(source.item(fetched), prepare))

    indices = order.indices(0, len(source)).tolist()
    with lmdb_writer(path, classes_of(source)) as put, closing(map_items(source, indices, example)) as examples:
        for made in examples:
            if isinstance(made, DataError):
                raise made
            put(made)


def _with_label(item: Item, prepare: Callable[[Array], Array]) -> Item:
    """A prepared image and its label, which is 0 if there is none."""
    image, *others = item
    return prepare(image), *(others or [np.zeros((), np.float32)])
