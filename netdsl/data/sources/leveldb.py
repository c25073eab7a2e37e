"""Reads LevelDB, Caffe's older database format."""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any
from weakref import finalize

from caffe_proto.errors import import_extra
from netdsl.data.sources.datum import DatumRecord, DatumSource, check_folder
from netdsl.data.sources.files import regular_file
from netdsl.data.transforms.decode import Color
from netdsl.errors import DataError


def library() -> Any:
    """Return the plyvel package, which is imported only here."""
    return import_extra("plyvel", "data", "LevelDB needs plyvel")


class LevelDbSource(DatumSource):
    """The records of a LevelDB. A LevelDB doesn't store their number, so opening one reads all keys.

    LevelDB locks and writes to any database that it opens. So it opens a temporary folder with links to the database's
    files, which it replaces and never changes. The database can be on a read-only disk, and many processes can read it.
    """

    def __init__(self, path: str | Path, color: Color = Color.AS_STORED) -> None:
        super().__init__(path, color)
        check_folder(self.path, "CURRENT", "a LevelDB")
        self._exceptions = (library().Error, OSError)
        folder = mkdtemp(prefix="netdsl-leveldb-")
        self._remove_folder = finalize(self, rmtree, folder, ignore_errors=True)
        self._position = -2  # the cursor's place, chosen so that record 0 doesn't follow it
        try:
            _link(self.path, Path(folder))
            self._database = library().DB(folder)
            self._keys = list(self._database.iterator(include_value=False, fill_cache=False))
            self._cursor = self._database.raw_iterator(verify_checksums=True, fill_cache=False)
        except DataError:
            self._remove_folder()
            raise
        except self._exceptions as problem:
            self._remove_folder()
            raise DataError(f"{path}: can't be read as a LevelDB: {error_text(problem)}") from None
        if not self._keys:
            self.close()
            raise DataError(f"{path}: the LevelDB is empty; name another one")

    def __len__(self) -> int:
        return len(self._keys)

    def fetch(self, index: int) -> DatumRecord:
        """Return one record. The cursor finds the next record, and the key finds any other."""
        is_next, self._position = self._position + 1 == index, -2
        try:
            if is_next:
                self._cursor.next()
            else:
                self._cursor.seek(self._keys[index])
            record = DatumRecord(*self._cursor.item())
        except self._exceptions as problem:
            raise DataError(f"{self.path}: record number {index} can't be read: {error_text(problem)}") from None
        if record.key != self._keys[index]:
            raise DataError(
                f"{self.path}: record number {index} isn't where its key says; the database is damaged, so convert "
                "the data again"
            )
        self._position = index
        return record

    def close(self) -> None:
        """Close the database and remove the temporary folder."""
        self._cursor.close()
        self._database.close()
        self._remove_folder()


def _link(database: Path, folder: Path) -> None:
    for file in database.iterdir():
        if not file.name.startswith(("LOCK", "LOG")) and not file.is_dir():
            (folder / file.name).symlink_to(regular_file(file).resolve())


def error_text(problem: Exception) -> str:
    """Return the message of plyvel's exception, which can be bytes, as one line."""
    message = problem.args[0] if problem.args else ""
    text = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(problem)
    return " ".join(text.split())
