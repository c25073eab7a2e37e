"""LMDB, the database that convert_imageset writes by default."""

from __future__ import annotations

from pathlib import Path

from netdsl.data.sources.datum import DatumRecord, DatumSource, check_folder
from netdsl.data.sources.lmdb_file import LMDB_FILE, LmdbFile
from netdsl.data.transforms.decode import Color
from netdsl.errors import DataError


class LmdbSource(DatumSource):
    """The records of an LMDB. Nothing is locked or written, so it may be on a read-only disk.

    Without a lock, no process may change the database while it is read.
    """

    def __init__(self, path: str | Path, color: Color = Color.AS_STORED) -> None:
        super().__init__(path, color)
        check_folder(self.path, LMDB_FILE, "an LMDB")
        self._file = LmdbFile(self.path)
        if not len(self._file):
            raise DataError(f"{path}: the LMDB is empty")

    def __len__(self) -> int:
        return len(self._file)

    def fetch(self, index: int) -> DatumRecord:
        """One record."""
        return self._file.record(index)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
