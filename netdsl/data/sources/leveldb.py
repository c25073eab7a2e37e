"""Reads LevelDB, Caffe's older database format, and checks the files while it reads them."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import merge
from pathlib import Path

from caffe_proto.errors import BinaryError
from caffe_proto.wire import read_varint
from netdsl.data.sources.datum import DatumRecord, DatumSource, check_folder
from netdsl.data.sources.files import file_errors, regular_file
from netdsl.data.sources.leveldb_log import BatchLog, log_records
from netdsl.data.sources.leveldb_tables import SortedTable, Version, damaged, sized_span
from netdsl.data.transforms.decode import Color
from netdsl.errors import DataError

CURRENT = "CURRENT"  # the file that names the manifest
# The fields of a manifest that are used.
COMPARATOR, LOG, NEXT_FILE, LAST_NUMBER, COMPACTED, REMOVED_TABLE, NEW_TABLE = range(1, 8)
EARLIER_LOG = 9  # a field that is skipped
BYTE_ORDER = b"leveldb.BytewiseComparator"
LEVELS = 7
_LOG_NAME = re.compile(r"(\d{1,19})\.log")
_MANIFEST_NAME = re.compile(r"(MANIFEST-\d{1,19})\n?")


@dataclass
class _Manifest:
    """The contents of a database: the size and the first key of each table on each level, and the logs."""

    tables: list[dict[int, tuple[int, bytes]]] = field(default_factory=lambda: [{} for _ in range(LEVELS)])
    order: bytes = BYTE_ORDER  # the order of the keys
    is_whole: bool = False
    log: int = 0  # the number of the first log whose records aren't in tables yet
    earlier_log: int = 0

    def change(self, edit: bytes) -> None:
        """Apply a record of the manifest. Raises a `BinaryError` if the record is damaged."""
        place = 0
        while place < len(edit):
            kind, place = read_varint(edit, place, len(edit))
            if kind == COMPARATOR:
                self.order, place = _sized(edit, place)
            elif kind == LOG:
                self.log, place = read_varint(edit, place, len(edit))
            elif kind == EARLIER_LOG:
                self.earlier_log, place = read_varint(edit, place, len(edit))
            elif kind in (NEXT_FILE, LAST_NUMBER):
                _, place = read_varint(edit, place, len(edit))
                self.is_whole = True
            elif kind in (COMPACTED, REMOVED_TABLE, NEW_TABLE):
                place = self._change_level(kind, edit, place)
            else:
                raise BinaryError(
                    f"the field {kind} doesn't exist in LevelDB; read a LevelDB that LevelDB or Caffe wrote"
                )

    def _change_level(self, kind: int, edit: bytes, place: int) -> int:
        level, place = read_varint(edit, place, len(edit))
        if level >= LEVELS:
            raise BinaryError(f"the level is {level}, but there are only {LEVELS}; copy its whole folder again")
        if kind == COMPACTED:
            return _sized(edit, place)[1]
        number, place = read_varint(edit, place, len(edit))
        if kind == REMOVED_TABLE:
            self.tables[level].pop(number, None)
            return place
        size, place = read_varint(edit, place, len(edit))
        first, place = _sized(edit, place)
        _, place = _sized(edit, place)
        self.tables[level][number] = size, first
        return place


def _sized(data: bytes, place: int) -> tuple[bytes, int]:
    """Return the bytes that follow their length at a position, and the position after them."""
    start, end = sized_span(data, place)
    if end > len(data):
        raise BinaryError("the record ends within a field; copy its whole folder again")
    return data[start:end], end


class LevelDbFiles:
    """The records in the folder of a LevelDB, in the order of their keys.

    LevelDB doesn't store the number of its records. So all keys are read first, and an index keeps the positions of the
    records. Nothing is locked or written, so the database may be on a read-only disk, and several threads and processes
    can read it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = list[SortedTable | BatchLog]()
        self._block_files, self._block_offsets, self._block_sizes = array("Q"), array("Q"), array("Q")
        # The block of each record, and the record's position in it.
        self._blocks, self._positions = (array("Q"), array("Q"))
        self._newest_blocks: dict[int, int] = {}  # by number of the file
        self._loaded: tuple[int, list[DatumRecord]] = (-1, [])  # the block that was read most recently
        manifest = _read_manifest(path)
        self._add_to_index(merge(*self._tables(manifest), *self._logs(manifest)))

    def __len__(self) -> int:
        return len(self._blocks)

    def record(self, index: int) -> DatumRecord:
        """Return one record."""
        number = self._blocks[index]
        loaded, records = self._loaded
        if loaded != number:
            file = self._files[self._block_files[number]]
            records = file.records(self._block_offsets[number], self._block_sizes[number])
            self._loaded = number, records
        if self._positions[index] >= len(records):
            raise DataError(
                f"{self._path}: another program changed the database while it was read; close that program and try "
                "again"
            )
        return records[self._positions[index]]

    def _tables(self, manifest: _Manifest) -> Iterator[Iterator[Version]]:
        """Yield the versions in each table of level 0, where keys may overlap, and the versions in each of the other
        levels."""
        for level, tables in enumerate(manifest.tables):
            in_order = sorted(tables, key=lambda number: tables[number][1])
            opened = [self._table(number, tables[number][0]) for number in in_order]
            if level:
                yield (version for table in opened for version in table.versions())
            else:
                yield from (table.versions() for table in opened)

    def _table(self, number: int, size: int) -> SortedTable:
        names = [self._path / f"{number:06}.{ending}" for ending in ("ldb", "sst")]
        path = next((name for name in names if name.exists()), None)
        if path is None:
            raise DataError(
                f"{names[0]}: the file is missing, although the manifest lists it; copy its whole folder again"
            )
        table = SortedTable(path, size, len(self._files))
        self._files.append(table)
        return table

    def _logs(self, manifest: _Manifest) -> Iterator[Iterator[Version]]:
        """Yield the versions in each log whose records aren't in tables yet."""
        with file_errors(self._path):
            names = [name for name in (_LOG_NAME.fullmatch(file.name) for file in self._path.iterdir()) if name]
        numbers = {int(name[1]): name[0] for name in names}
        for number in sorted(numbers):
            if number >= manifest.log or number == manifest.earlier_log:
                log = BatchLog(self._path / numbers[number], len(self._files))
                self._files.append(log)
                yield log.versions()

    def _add_to_index(self, versions: Iterator[Version]) -> None:
        """Add the newest version of each key to the index, unless it marks the key as deleted."""
        last: bytes | None = None
        for version in versions:
            if last is not None and version.key < last:
                raise DataError(
                    f"{self._path}: the tables of a level overlap; the database is damaged, so copy its whole "
                    "folder again"
                )
            if version.key != last and not version.is_deleted:
                self._blocks.append(self._block(version))
                self._positions.append(version.position)
            last = version.key

    def _block(self, version: Version) -> int:
        """Return the number of a version's block. The versions of a file must be passed in the order of their
        blocks."""
        number = self._newest_blocks.get(version.file)
        if number is None or self._block_offsets[number] != version.offset:
            number = self._newest_blocks[version.file] = len(self._block_files)
            self._block_files.append(version.file)
            self._block_offsets.append(version.offset)
            self._block_sizes.append(version.size)
        return number


def _read_manifest(path: Path) -> _Manifest:
    with file_errors(path / CURRENT), regular_file(path / CURRENT).open("rb") as file:
        name = _MANIFEST_NAME.fullmatch(file.read(100).decode("ascii", "replace"))
    if name is None:
        raise damaged(path / CURRENT, 0, "the file doesn't name a manifest")
    manifest, manifest_path = _Manifest(), path / name[1]
    if not manifest_path.exists():
        raise DataError(
            f"{manifest_path}: the file is missing, although {CURRENT} names it; copy its whole folder again"
        )
    for record in log_records(manifest_path):
        try:
            manifest.change(record.data)
        except BinaryError as problem:
            raise damaged(
                manifest_path, record.offsets[0], str(problem).removesuffix("; the file is damaged")
            ) from None
    if not manifest.is_whole:
        raise damaged(manifest_path, 0, "the manifest doesn't list the files of the database")
    if manifest.order != BYTE_ORDER:
        order = manifest.order[:80].decode("ascii", "backslashreplace")
        raise DataError(
            f"{path}: the keys are in a custom order, '{order}'; write it again with `zoo data convert` or "
            "Caffe's convert_imageset"
        )
    return manifest


class LevelDbSource(DatumSource):
    """The records of a LevelDB. Nothing is locked or written, so it may be on a read-only disk."""

    def __init__(self, path: str | Path, color: Color = Color.AS_STORED) -> None:
        super().__init__(path, color)
        check_folder(self.path, CURRENT, "a LevelDB")
        self._files = LevelDbFiles(self.path)
        if not len(self._files):
            raise DataError(f"{path}: the LevelDB is empty; write it again, or name a database with records")

    def __len__(self) -> int:
        return len(self._files)

    def fetch(self, index: int) -> DatumRecord:
        """Return one record."""
        return self._files.record(index)

    def close(self) -> None:
        """Do nothing, because no file stays open."""
