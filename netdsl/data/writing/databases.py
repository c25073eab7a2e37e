"""LMDB and LevelDB written as Caffe does: transactions of a thousand records, in a map that grows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from netdsl.data.sources.leveldb import library as leveldb
from netdsl.data.sources.leveldb import text_of
from netdsl.data.sources.lmdb import library as lmdb
from netdsl.data.writing.example import Example, Put, datum_of

_RECORDS = 1000  # in one transaction
_BYTES = 1 << 26  # or so many
_BLOCK = 1 << 16  # LevelDB's block as Caffe sets it


class _Pending:
    """Records that wait for their transaction."""

    def __init__(self) -> None:
        self.records: list[tuple[bytes, bytes]] = []
        self._size = 0

    def add(self, example: Example) -> bool:
        """Take one more; whether it's time to write."""
        value = datum_of(example).SerializeToString()
        self.records.append((example.key, value))
        self._size += len(value)
        return len(self.records) == _RECORDS or self._size > _BYTES

    def clear(self) -> None:
        """After they are written."""
        self.records, self._size = [], 0


@contextmanager
def lmdb_writer(path: Path, *, map_size: int = 1 << 28) -> Iterator[Put]:
    """Records into a new LMDB."""
    library, pending = lmdb(), _Pending()
    try:
        with library.open(str(path), map_size=map_size, sync=False, lock=False) as environment:

            def put(example: Example) -> None:
                if pending.add(example):
                    _commit(environment, pending)

            yield put
            _commit(environment, pending)
            environment.sync(True)
    except library.Error as problem:
        raise OSError(str(problem)) from None


def _commit(environment: Any, pending: _Pending) -> None:
    while True:
        try:
            with environment.begin(write=True) as transaction:
                for key, value in pending.records:
                    transaction.put(key, value)
            pending.clear()
            return
        except lmdb().MapFullError:
            environment.set_mapsize(2 * environment.info()["map_size"])


@contextmanager
def leveldb_writer(path: Path) -> Iterator[Put]:
    """Records into a new LevelDB."""
    library, pending = leveldb(), _Pending()
    try:
        database = library.DB(str(path), create_if_missing=True, error_if_exists=True, block_size=_BLOCK)
        with database:

            def put(example: Example) -> None:
                if pending.add(example):
                    _write(database, pending)

            yield put
            _write(database, pending)
    except library.Error as problem:
        raise OSError(text_of(problem)) from None


def _write(database: Any, pending: _Pending) -> None:
    with database.write_batch(sync=True) as batch:
        for key, value in pending.records:
            batch.put(key, value)
    pending.clear()
