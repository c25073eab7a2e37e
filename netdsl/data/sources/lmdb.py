"""LMDB, the database that convert_imageset writes unless told otherwise."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from caffe_proto.errors import MissingExtraError
from netdsl.data.sources.datum import DatumRecord, DatumSource, check_folder
from netdsl.data.transforms.decode import Color
from netdsl.errors import DataError

_NEAR = 64  # records that are passed one by one rather than looked up, which needs all keys
# The library opens a database once in a process, and a TRAIN and a TEST net may read the same one.
_open: WeakValueDictionary[tuple[int, int], Any] = WeakValueDictionary()


@cache
def library() -> Any:
    """The library, which is imported nowhere else."""
    try:
        return import_module("lmdb")
    except ImportError:
        raise MissingExtraError("LMDB needs lmdb: pip install 'netdsl[data]'") from None


class LmdbSource(DatumSource):
    """The records of an LMDB. Nothing is written beside it, so it may lie on a read-only disk.

    Without the lock that would be written, nobody may change the database while it is read.
    """

    def __init__(self, path: str | Path, color: Color = Color.AS_STORED) -> None:
        super().__init__(path, color)
        self._environment = _opened(self.path)
        self._length = int(self._environment.stat()["entries"])
        if not self._length:
            raise DataError(f"{path}: the LMDB is empty")
        self._transaction = self._environment.begin()
        self._cursor = self._transaction.cursor()
        self._at = -1
        self._keys: list[bytes] = []

    def __len__(self) -> int:
        return self._length

    def fetch(self, index: int) -> DatumRecord:
        """One record: near ahead with the cursor, else by its key."""
        try:
            self._move(index)
            return DatumRecord(*self._cursor.item())
        except library().Error as problem:
            self._at = self._length  # wherever the cursor is now: the next record is looked up
            raise DataError(f"{self.path}: record number {index} can't be read: {problem}") from None

    def _move(self, index: int) -> None:
        assert 0 <= index < self._length
        if index == 0:
            self._cursor.first()
        elif 0 <= index - self._at <= _NEAR:
            for _ in range(index - self._at):
                self._cursor.next()
        else:
            self._cursor.set_key(self._key(index))
        self._at = index

    def _key(self, index: int) -> bytes:
        if not self._keys:
            with self._transaction.cursor() as cursor:
                self._keys = list(cursor.iternext(values=False))
        return self._keys[index]

    def close(self) -> None:
        """Let go of the database, which is closed with its last source."""
        self._cursor = self._transaction = self._environment = None


def _opened(path: Path) -> Any:
    check_folder(path, "data.mdb", "an LMDB")
    status = (path / "data.mdb").stat()
    found = _open.get((status.st_dev, status.st_ino))
    if found is None:
        try:
            found = library().open(str(path), readonly=True, lock=False, create=False)
        except library().Error as problem:
            raise DataError(f"{path}: can't be opened as an LMDB: {problem}") from None
        _check_size(path, status.st_size, found)
        _open[status.st_dev, status.st_ino] = found
    return found


def _check_size(path: Path, size: int, environment: Any) -> None:
    """Reading behind the end of a mapped file would kill the process."""
    needed = (environment.info()["last_pgno"] + 1) * environment.stat()["psize"]
    if size < needed:
        environment.close()
        raise DataError(f"{path}: data.mdb is cut short: it has {size:,} of {needed:,} bytes; copy it again")
