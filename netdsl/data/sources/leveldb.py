"""LevelDB, Caffe's older database."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any
from weakref import finalize

from caffe_proto.errors import MissingExtraError
from netdsl.data.sources.datum import DatumRecord, DatumSource, check_folder
from netdsl.data.transforms.decode import Color
from netdsl.errors import DataError


@cache
def library() -> Any:
    """The library, which is imported nowhere else."""
    try:
        return import_module("plyvel")
    except ImportError:
        raise MissingExtraError("LevelDB needs plyvel: pip install 'netdsl[data]'") from None


class LevelDbSource(DatumSource):
    """The records of a LevelDB. It doesn't know how many it has, so all keys are read first.

    LevelDB can't open a database without writing to it and keeping all others away. So a folder of our own is opened,
    with links to the files, which LevelDB replaces and never changes: the database may lie on a read-only disk, and
    many processes can read it.
    """

    def __init__(self, path: str | Path, color: Color = Color.AS_STORED) -> None:
        super().__init__(path, color)
        check_folder(self.path, "CURRENT", "a LevelDB")
        self._faults = (library().Error, OSError)
        folder = mkdtemp(prefix="netdsl-leveldb-")
        self._remove_folder = finalize(self, rmtree, folder, ignore_errors=True)
        self._at = -2  # the first record isn't behind any that was read
        try:
            _link(self.path, Path(folder))
            self._database = library().DB(folder)
            self._keys = list(self._database.iterator(include_value=False, fill_cache=False))
            self._cursor = self._database.raw_iterator(verify_checksums=True, fill_cache=False)
        except self._faults as problem:
            self._remove_folder()
            raise DataError(f"{path}: can't be read as a LevelDB: {text_of(problem)}") from None
        if not self._keys:
            self.close()
            raise DataError(f"{path}: the LevelDB is empty")

    def __len__(self) -> int:
        return len(self._keys)

    def fetch(self, index: int) -> DatumRecord:
        """One record: the next one with the cursor, any other by its key."""
        behind, self._at = self._at + 1 == index, -2
        try:
            if behind:
                self._cursor.next()
            else:
                self._cursor.seek(self._keys[index])
            record = DatumRecord(*self._cursor.item())
        except self._faults as problem:
            raise DataError(f"{self.path}: record number {index} can't be read: {text_of(problem)}") from None
        if record.key != self._keys[index]:
            raise DataError(f"{self.path}: record number {index} isn't where it was; the database is damaged")
        self._at = index
        return record

    def close(self) -> None:
        """Let go of the database and of our folder."""
        self._cursor.close()
        self._database.close()
        self._remove_folder()


def _link(database: Path, folder: Path) -> None:
    for file in database.iterdir():
        if not file.name.startswith(("LOCK", "LOG")):
            (folder / file.name).symlink_to(file.resolve())


def text_of(problem: Exception) -> str:
    """What the library says, which may be bytes."""
    said = problem.args[0] if problem.args else ""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(problem)
