"""Reads LevelDB's sorted tables, files of blocks with records in the order of their keys, and an index of the
blocks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from caffe_proto.errors import BinaryError, import_extra
from caffe_proto.wire import read_varint
from netdsl.data.sources.crc32c import masked_crc32c
from netdsl.data.sources.datum import DatumRecord
from netdsl.data.sources.files import file_errors, regular_file
from netdsl.errors import DataError

MAGIC = 0xDB4775248B80FB57.to_bytes(8, "little")
FOOTER = 48  # size in bytes: two handles of up to 20, and the magic number
TRAILER = 5  # size in bytes of the data after a block: the compression, and a checksum
UNCOMPRESSED, SNAPPY, ZSTANDARD = range(3)
DELETION, VALUE = range(2)  # the kinds of versions
TAG = 8  # size in bytes of the data after a key: the kind and the number of the version
_LONGEST_HEADER = 15  # maximum size in bytes of three variable-length 32-bit numbers
_SNAPPY_GROWTH = 22  # maximum bytes of output for each byte of input: 3 bytes encode a copy of 64
_LARGE = 1 << 17  # size in bytes of blocks from which the index reads only the keys

Read = Callable[[int, int], bytes]  # reads a number of bytes from an offset, or fewer at the end


class Version(NamedTuple):
    """A version of a key and its position. Versions are sorted by key, and the newest version of a key comes first."""

    key: bytes
    tag: int  # the negative of the number and the kind
    file: int
    offset: int  # the offset of the block
    size: int  # the size of the block
    position: int  # the position in the block

    @property
    def is_deleted(self) -> bool:
        """Whether the key was deleted."""
        return -self.tag & 0xFF == DELETION


def snappy() -> Any:
    """Return the codec of Snappy, which is part of pyarrow."""
    return import_extra("pyarrow", "data", "reading compressed blocks of LevelDB needs pyarrow").Codec("snappy")


class SortedTable:
    """A sorted table. The file is open only while a block is read, since a database may have thousands of tables."""

    def __init__(self, path: Path, size: int, file: int) -> None:
        self._path, self._size, self._file = regular_file(path), size, file
        with file_errors(path):
            found = path.stat().st_size
        if found < size or size < FOOTER:
            raise DataError(
                f"{path}: the file is truncated to {found:,} of {size:,} bytes; copy its whole folder again"
            )

    def versions(self) -> Iterator[Version]:
        """Yield all versions of all keys in order."""
        last: tuple[bytes, int] = (b"", -(1 << 64))
        for offset, size in self._blocks():
            with self._keys_of(offset, size) as keys:
                for position, (key, _, _) in enumerate(keys):
                    tag = -int.from_bytes(key[-TAG:], "little")
                    if len(key) < TAG or -tag & 0xFF > VALUE or (key[:-TAG], tag) <= last:
                        raise self._damaged(offset, f"key {position} of the block is damaged or out of order")
                    last = key[:-TAG], tag
                    yield Version(*last, self._file, offset, size, position)

    def records(self, offset: int, size: int) -> list[DatumRecord]:
        """Return the records of a block."""
        content = self._content(offset, size)
        keys = self._entries(_reader_of(content), len(content), offset)
        return [DatumRecord(key[:-TAG], content[start:end]) for key, start, end in keys]

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """Yield the offset and the size of each block. Blocks can't overlap, so that a small file can't pretend to be
        large."""
        footer = self._read(self._size - FOOTER, FOOTER)
        if not footer.endswith(MAGIC):
            raise self._damaged(self._size - FOOTER, "the end of the file isn't that of a LevelDB table")
        _, place = self._handle(footer, 0, self._size - FOOTER)
        (offset, size), _ = self._handle(footer, place, self._size - FOOTER)
        content = self._content(offset, size)
        end = 0
        for _, start, _ in self._entries(_reader_of(content), len(content), offset):
            block, _ = self._handle(content, start, offset)
            if block[0] < end:
                raise self._damaged(block[0], "two blocks overlap")
            end = block[0] + block[1] + TRAILER
            yield block

    def _handle(self, data: bytes, place: int, offset: int) -> tuple[tuple[int, int], int]:
        """Return a block's offset and size, and the position after them. Errors name `offset`, where the handle is
        stored."""
        try:
            start, place = read_varint(data, place, len(data))
            size, place = read_varint(data, place, len(data))
        except BinaryError:
            raise self._damaged(offset, "the handle of a block is damaged") from None
        if start + size + TRAILER > self._size - FOOTER:
            raise self._damaged(offset, f"a block starts at byte {start:,}, beyond the end of the file")
        return (start, size), place

    @contextmanager
    def _keys_of(self, offset: int, size: int) -> Iterator[Iterator[tuple[bytes, int, int]]]:
        """Open a block and return an iterator over its keys. Values in a large block are skipped if it isn't
        compressed."""
        if size < _LARGE or self._read(offset + size, 1)[0] != UNCOMPRESSED:
            content = self._content(offset, size)
            yield self._entries(_reader_of(content), len(content), offset)
            return
        with file_errors(self._path), self._path.open("rb", buffering=0) as file:
            yield self._entries(lambda start, count: os.pread(file.fileno(), count, offset + start), size, offset)

    def _entries(self, read: Read, size: int, offset: int) -> Iterator[tuple[bytes, int, int]]:
        """Yield each key of a block, and the start and end of its value.

        A stored key omits the beginning that it shares with the key before it.
        """
        restarts = int.from_bytes(read(size - 4, 4), "little") if size >= 4 else 0
        limit = size - 4 - 4 * restarts
        if limit < 0:
            raise self._damaged(offset, "the block is damaged")
        place, key = 0, b""
        while place < limit:
            header = read(place, min(_LONGEST_HEADER, limit - place))
            try:
                shared, used = read_varint(header, 0, len(header))
                own, used = read_varint(header, used, len(header))
                length, used = read_varint(header, used, len(header))
            except BinaryError:
                shared, own, length, used = 0, size, 0, 0
            start = place + used + own
            end = start + length
            if shared > len(key) or end > limit:
                raise self._damaged(offset, f"byte {place:,} of the block isn't the start of a record")
            key = key[:shared] + read(place + used, own)
            yield key, start, end
            place = end

    def _content(self, offset: int, size: int) -> bytes:
        """Return the contents of a block after comparing its checksum."""
        data = self._read(offset, size + TRAILER)
        if masked_crc32c(data[:-4]) != int.from_bytes(data[-4:], "little"):
            raise self._damaged(offset, "the checksum of the block is wrong")
        content, kind = data[:-TRAILER], data[-TRAILER]
        if kind == UNCOMPRESSED:
            return content
        if kind != SNAPPY:
            what = "with Zstandard" if kind == ZSTANDARD else f"in an unknown way, {kind}"
            raise DataError(
                f"{self._path}: byte {offset:,}: the block is compressed {what}; write the database again with "
                "Snappy, as Caffe does, or without compression"
            )
        try:
            length, _ = read_varint(content, 0, len(content))
            if length > _SNAPPY_GROWTH * size:
                raise self._damaged(offset, f"a length of {length:,} bytes isn't possible for the block")
            return snappy().decompress(content, length, asbytes=True)  # type: ignore[no-any-return]
        except (BinaryError, OSError, ValueError):
            raise self._damaged(offset, "the compressed block is damaged") from None

    def _read(self, offset: int, size: int) -> bytes:
        with file_errors(self._path), self._path.open("rb", buffering=0) as file:
            data = os.pread(file.fileno(), size, offset)
        if len(data) < size:
            raise truncated(self._path, "block")
        return data

    def _damaged(self, offset: int, what: str) -> DataError:
        return damaged(self._path, offset, what)


def damaged(path: Path, offset: int, what: str) -> DataError:
    """Return the error for a damaged position in a file."""
    return DataError(f"{path}: byte {offset:,}: {what}; the database is damaged, so copy its whole folder again")


def truncated(path: Path, unit: str) -> DataError:
    """Return the error for a file that became shorter while it was read."""
    return DataError(
        f"{path}: the file ends within a {unit}; another program truncated it, so copy its whole folder again"
    )


def sized_span(data: bytes, place: int) -> tuple[int, int]:
    """Return the start and the end of the bytes that follow their length at a position. The end can be beyond the
    data."""
    length, start = read_varint(data, place, len(data))
    return start, start + length


def _reader_of(content: bytes) -> Read:
    return lambda start, count: content[start : start + count]
