"""Writes LMDB and LevelDB databases of Datum records, including databases for Caffe's training."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from caffe_proto.errors import import_extra
from netdsl.data.batches.reading import Reading
from netdsl.data.sources.class_names import LABELS, classes_of, write_class_names
from netdsl.data.sources.order import Order
from netdsl.data.sources.source import Item
from netdsl.data.types import Array
from netdsl.data.writing.example import Example, Put, datum_of
from netdsl.data.writing.leveldb import LevelDbWriter
from netdsl.data.writing.map_items import map_items
from netdsl.errors import DataError

_RECORDS = 1000  # in one transaction
_BYTES = 1 << 26  # in one transaction, for large records

PutRecord = Callable[[bytes, bytes], None]  # adds a key and a value to a database that is being written


class _PendingRecords:
    """Records that aren't committed yet."""

    def __init__(self) -> None:
        self.records: list[tuple[bytes, bytes]] = []
        self._size = 0

    def add(self, key: bytes, value: bytes) -> bool:
        """Add a record, and return whether the records should be committed."""
        self.records.append((key, value))
        self._size += len(value)
        return len(self.records) == _RECORDS or self._size > _BYTES

    def clear(self) -> None:
        """Forget the records after they are committed."""
        self.records, self._size = [], 0


def _lmdb() -> Any:
    """Return the lmdb package, which is only needed for writing."""
    return import_extra("lmdb", "data", "writing LMDB needs lmdb")


@contextmanager
def lmdb_writer(path: Path, classes: Sequence[str] = (), *, map_size: int = 1 << 28) -> Iterator[Put]:
    """Yield a function that adds items to a new LMDB. The names of the classes are written to its folder."""
    with lmdb_records(path, map_size=map_size) as put_record:
        yield _put_items(put_record)
    _write_classes(classes, path)


@contextmanager
def lmdb_records(path: Path, *, map_size: int = 1 << 28) -> Iterator[PutRecord]:
    """Yield a function that adds records to a new LMDB."""
    library, pending = _lmdb(), _PendingRecords()
    try:
        with library.open(str(path), map_size=map_size, sync=False, lock=False) as environment:

            def put(key: bytes, value: bytes) -> None:
                if pending.add(key, value):
                    _commit(environment, pending)

            yield put
            _commit(environment, pending)
            environment.sync(True)
    except library.Error as problem:
        raise OSError(str(problem)) from None


def write_records(path: Path, records: Iterable[tuple[bytes, bytes]]) -> None:
    """Write a new LMDB with these keys and values."""
    with lmdb_records(path) as put:
        for key, value in records:
            put(key, value)


def _commit(environment: Any, pending: _PendingRecords) -> None:
    """Commit records. If the map is full, it is enlarged."""
    while True:
        try:
            with environment.begin(write=True) as transaction:
                for key, value in pending.records:
                    transaction.put(key, value)
            pending.clear()
            return
        except _lmdb().MapFullError:
            environment.set_mapsize(2 * environment.info()["map_size"])


@contextmanager
def leveldb_writer(path: Path, classes: Sequence[str] = ()) -> Iterator[Put]:
    """Yield a function that adds items to a new LevelDB. The names of the classes are written to its folder."""
    with leveldb_records(path) as put_record:
        yield _put_items(put_record)
    _write_classes(classes, path)


@contextmanager
def leveldb_records(path: Path) -> Iterator[PutRecord]:
    """Yield a function that adds records to a new LevelDB."""
    writer = LevelDbWriter(path)
    yield writer.put
    writer.finish()


def _put_items(put_record: PutRecord) -> Put:
    """Return a function that adds items as records of Datum."""
    return lambda example: put_record(example.key, datum_of(example).SerializeToString())


def _write_classes(classes: Sequence[str], folder: Path) -> None:
    if classes:
        write_class_names(classes, folder / LABELS)


def write_caffe_database(reading: Reading, prepare: Callable[[Array], Array], path: Path, *, seed: int = 0) -> None:
    """Write all items with prepared images. Keys are positions, because Caffe reads records in the order of their
    keys."""
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
    """Return a prepared image and its label. The label is 0 if there is none."""
    image, *others = item
    return prepare(image), *(others or [np.zeros((), np.float32)])
