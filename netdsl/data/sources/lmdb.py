"""LMDB, the database that convert_imageset writes by default."""

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

_NEAR = 64  # records that the cursor moves over one by one; looking one up by its key needs all keys
# lmdb opens a database only once in a process, and a TRAIN and a TEST net may read the same one.
_environments: WeakValueDictionary[tuple[int, int], Any] = WeakValueDictionary()


@cache
def library() -> Any:
    """The lmdb package, which is imported only here."""
    try:
        return import_module("lmdb")
    except ImportError:
        raise MissingExtraError("LMDB needs lmdb: pip install 'netdsl[data]'") from None


class LmdbSource(DatumSource):
    """The records of an LMDB. No lock file is written, so it may be on a read-only disk.

    Without a lock, no process may change the database while it is read.
    """

    def __init__(self, path: str | Path, color: Color = Color.AS_STORED) -> None:
        super().__init__(path, color)
        self._environment = _environment(self.path)
        self._length = int(self._environment.stat()["entries"])
        if not self._length:
            raise DataError(f"{path}: the LMDB is empty")
        self._transaction = self._environment.begin()
        self._cursor = self._transaction.cursor()
        self._position = -1
        self._keys: list[bytes] = []

    def __len__(self) -> int:
        return self._length

    def fetch(self, index: int) -> DatumRecord:
        """One record: by the cursor if it is close behind it, else by its key."""
        try:
            self._move(index)
            return DatumRecord(*self._cursor.item())
        except library().Error as problem:
            self._position = self._length  # the cursor may be anywhere, so the next record is looked up
            raise DataError(f"{self.path}: record number {index} can't be read: {problem}") from None

    def _move(self, index: int) -> None:
        assert 0 <= index < self._length
        if index == 0:
            self._cursor.first()
        elif 0 <= index - self._position <= _NEAR:
            for _ in range(index - self._position):
                self._cursor.next()
        else:
            self._cursor.set_key(self._key(index))
        self._position = index

    def _key(self, index: int) -> bytes:
        if not self._keys:
            with self._transaction.cursor() as cursor:
                self._keys = list(cursor.iternext(values=False))
        return self._keys[index]

    def close(self) -> None:
        """Release the database, which is closed with its last source."""
        self._cursor = self._transaction = self._environment = None


def _environment(path: Path) -> Any:
    check_folder(path, "data.mdb", "an LMDB")
    status = (path / "data.mdb").stat()
    environment = _environments.get((status.st_dev, status.st_ino))
    if environment is None:
        try:
            environment = library().open(str(path), readonly=True, lock=False, create=False)
        except library().Error as problem:
            raise DataError(f"{path}: can't be opened as an LMDB: {problem}") from None
        _check_size(path, status.st_size, environment)
        _environments[status.st_dev, status.st_ino] = environment
    return environment


def _check_size(path: Path, size: int, environment: Any) -> None:
    """Raise a DataError for a truncated file: reading beyond the end of a mapped file would kill the process."""
    needed = (environment.info()["last_pgno"] + 1) * environment.stat()["psize"]
    if size < needed:
        environment.close()
        raise DataError(f"{path}: data.mdb is truncated: it has {size:,} of {needed:,} bytes; copy it again")
