"""Writes LevelDB databases: sorted tables of records, and the list of these tables."""

from __future__ import annotations

from collections.abc import Iterator
from errno import EEXIST
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, NamedTuple

from caffe_proto.storage import sync
from caffe_proto.wire import varint
from netdsl.data.sources.crc32c import masked_crc32c
from netdsl.data.sources.leveldb import (
    BYTE_ORDER,
    COMPARATOR,
    CURRENT,
    LAST_NUMBER,
    LEVELS,
    LOG,
    NEW_TABLE,
    NEXT_FILE,
)
from netdsl.data.sources.leveldb_log import BLOCK, FIRST, HEADER, LAST, MIDDLE, WHOLE
from netdsl.data.sources.leveldb_tables import FOOTER, MAGIC, SNAPPY, TAG, UNCOMPRESSED, VALUE, snappy

_BLOCK_SIZE = 1 << 16  # size in bytes of a table's block, as Caffe sets it
_TABLE_SIZE = 1 << 26  # size in bytes of the values in a table
_MANIFEST = 1  # the number of the manifest's file; tables have the numbers after it


class _Table(NamedTuple):
    number: int
    size: int
    first: bytes
    last: bytes


class LevelDbWriter:
    """A new database that accepts records in any order. If several records have the same key, the last one counts."""

    def __init__(self, path: Path) -> None:
        path.mkdir(exist_ok=True)
        if (path / CURRENT).exists():
            raise FileExistsError(EEXIST, "there is already a database; name a new folder", str(path))
        self._path, self._codec = path, snappy()
        self._pending, self._size = dict[bytes, bytes](), 0  # the records of the next table
        self._tables, self._last_number = list[_Table](), 0

    def put(self, key: bytes, value: bytes) -> None:
        """Add a record."""
        self._pending[key] = value
        self._size += len(value)
        if self._size > _TABLE_SIZE:
            self._write_table()

    def finish(self) -> None:
        """Write the last records and the list of the tables. All data are on the disk when this returns."""
        if self._pending:
            self._write_table()
        manifest, current = self._path / f"MANIFEST-{_MANIFEST:06}", self._path / CURRENT
        manifest.write_bytes(b"".join(_log_fragments(self._edit())))
        sync(manifest)
        current.write_text(f"{manifest.name}\n", encoding="ascii")
        sync(current)
        sync(self._path)

    def _write_table(self) -> None:
        number, keys = _MANIFEST + 1 + len(self._tables), sorted(self._pending)
        path, tagged = self._path / f"{number:06}.ldb", [key + self._next_tag() for key in keys]
        with path.open("wb") as file:
            index, block = _Block(restart=1), _Block()
            for key, tagged_key in zip(keys, tagged, strict=True):
                block.add(tagged_key, self._pending[key])
                if block.size >= _BLOCK_SIZE or key == keys[-1]:
                    index.add(tagged_key, self._write_block(file, block))
                    block = _Block()
            handles = self._write_block(file, _Block()) + self._write_block(file, index)
            file.write(handles.ljust(FOOTER - len(MAGIC), b"\0") + MAGIC)
        sync(path)
        self._tables.append(_Table(number, path.stat().st_size, tagged[0], tagged[-1]))
        self._pending, self._size = {}, 0

    def _next_tag(self) -> bytes:
        self._last_number += 1
        return (self._last_number << 8 | VALUE).to_bytes(TAG, "little")

    def _write_block(self, file: BinaryIO, block: _Block) -> bytes:
        """Write a block and return its encoded offset and size. Like LevelDB, compress it if that saves at least an
        eighth."""
        offset, content = file.tell(), block.content()
        compressed = self._codec.compress(content, asbytes=True)
        smaller = len(compressed) < len(content) - len(content) // 8
        data = compressed + bytes([SNAPPY]) if smaller else content + bytes([UNCOMPRESSED])
        file.write(data + masked_crc32c(data).to_bytes(4, "little"))
        return varint(offset) + varint(len(data) - 1)

    def _edit(self) -> bytes:
        """Return the record of the manifest.

        Tables that don't overlap are on the last level, which LevelDB doesn't change. Others are on level 0, where the
        newest table counts.
        """
        apart = all(first.last[:-TAG] < second.first[:-TAG] for first, second in pairwise(self._tables))
        level = LEVELS - 1 if apart else 0
        next_file = _MANIFEST + 1 + len(self._tables)
        edit = [varint(COMPARATOR), _sized(BYTE_ORDER), varint(LOG), varint(next_file)]
        edit += [varint(NEXT_FILE), varint(next_file + 1), varint(LAST_NUMBER), varint(self._last_number)]
        for table in self._tables:
            edit += [varint(NEW_TABLE), varint(level), varint(table.number), varint(table.size)]
            edit += [_sized(table.first), _sized(table.last)]
        return b"".join(edit)


class _Block:
    """The records of a block. A stored key omits the beginning that it shares with the key before it. At regular
    intervals, a key is stored whole."""

    def __init__(self, restart: int = 16) -> None:
        self.size = 0
        self._restart, self._restarts = restart, [0]
        self._pieces, self._count, self._last = list[bytes](), 0, b""

    def add(self, key: bytes, value: bytes) -> None:
        """Add a record."""
        shared = 0
        if self._count % self._restart:
            shared = _common_length(self._last, key)
        elif self._count:
            self._restarts.append(self.size)
        header = varint(shared) + varint(len(key) - shared) + varint(len(value))
        self._pieces += [header, key[shared:], value]
        self.size += len(header) + len(key) - shared + len(value)
        self._count, self._last = self._count + 1, key

    def content(self) -> bytes:
        """Return the records, followed by the positions of the whole keys."""
        numbers = [*self._restarts, len(self._restarts)]
        return b"".join([*self._pieces, *(number.to_bytes(4, "little") for number in numbers)])


def _common_length(first: bytes, second: bytes) -> int:
    """Return the number of bytes that are the same at the start of two keys."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(first), len(second)))


def _sized(data: bytes) -> bytes:
    return varint(len(data)) + data


def _log_fragments(record: bytes) -> Iterator[bytes]:
    """Yield the fragments of a log with a single record. A fragment never crosses a block."""
    size = BLOCK - HEADER
    pieces = [record[start : start + size] for start in range(0, len(record), size)]
    kinds = [FIRST, *[MIDDLE] * (len(pieces) - 2), LAST] if len(pieces) > 1 else [WHOLE]
    for kind, piece in zip(kinds, pieces, strict=True):
        data = bytes([kind]) + piece
        yield masked_crc32c(data).to_bytes(4, "little") + len(piece).to_bytes(2, "little") + data
