"""Reads LevelDB's logs, files of records with checksums. They contain the records that aren't in a table yet, or the
list of tables."""

from __future__ import annotations

import os
import warnings
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from caffe_proto.errors import BinaryError
from netdsl.data.sources.crc32c import masked_crc32c
from netdsl.data.sources.datum import DatumRecord
from netdsl.data.sources.files import file_errors, regular_file
from netdsl.data.sources.leveldb_tables import VALUE, Version, damaged, sized_span, truncated
from netdsl.errors import DataWarning

BLOCK = 1 << 15  # size in bytes; a fragment of a record never crosses a block
HEADER = 7  # size in bytes: a checksum, the length, the kind
UNUSED, WHOLE, FIRST, MIDDLE, LAST = range(5)  # the kinds of fragments
_INCOMPLETE = -1  # not a kind of LevelDB: the file ends within the fragment
BATCH_HEADER = 12  # size in bytes: the number of the first version, and the number of versions


class LogRecord(NamedTuple):
    """A record of a log, which consists of fragments."""

    data: bytes
    offsets: list[int]  # of the fragments in the file
    lengths: list[int]


def log_records(path: Path) -> Iterator[LogRecord]:
    """Yield the records of a log after comparing their checksums.

    If the process that wrote the log ended within a record, that record is skipped with a warning.
    """
    pieces, offsets = list[bytes](), list[int]()
    for offset, kind, data in _fragments(path):
        if kind == _INCOMPLETE:
            pieces.append(data)
            break
        if kind in (WHOLE, FIRST) and pieces:
            _warn_of_end(path)
            pieces, offsets = [], []
        elif kind in (MIDDLE, LAST) and not pieces:
            raise damaged(path, offset, "the beginning of a record is missing")
        pieces.append(data)
        offsets.append(offset)
        if kind in (WHOLE, LAST):
            yield LogRecord(b"".join(pieces), offsets, [len(piece) for piece in pieces])
            pieces, offsets = [], []
    if pieces:
        _warn_of_end(path)


def _warn_of_end(path: Path) -> None:
    what = "a record is incomplete, so the most recent items may be missing"
    warnings.warn(f"{path}: {what}", DataWarning, stacklevel=4)


def _fragments(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Yield the offset of each fragment's data, its kind and its data."""
    block_start = 0
    with file_errors(path), regular_file(path).open("rb") as file:
        while block := file.read(BLOCK):
            place = 0
            while place + HEADER <= len(block):
                checksum, length, kind = block[place : place + 4], block[place + 4 : place + 6], block[place + 6]
                start = place + HEADER
                end = start + int.from_bytes(length, "little")
                if kind == UNUSED and start == end:
                    break  # the rest of the block was reserved but never written
                if end > len(block):
                    if len(block) == BLOCK:
                        raise damaged(path, block_start + place, "a record is longer than its block")
                    break
                if masked_crc32c(block[place + 6 : end]) != int.from_bytes(checksum, "little"):
                    raise damaged(path, block_start + place, "the checksum of a record is wrong")
                if not WHOLE <= kind <= LAST:
                    raise damaged(path, block_start + place, f"the kind of a record is {kind}, which doesn't exist")
                yield block_start + start, kind, block[start:end]
                place = end
            if place < len(block) < BLOCK and any(block[place:]):
                yield block_start + place, _INCOMPLETE, b""
            block_start += len(block)


class BatchLog:
    """The batches of versions in a log. Only the positions of records are kept in memory, and values are read when they
    are needed."""

    def __init__(self, path: Path, file: int) -> None:
        self._path, self._file = path, file
        self._starts, self._offsets = array("Q"), array("Q")  # of fragments: in all data, and in the file
        self._size = 0  # the length of all data

    def versions(self) -> Iterator[Version]:
        """Yield all versions of all keys, sorted by key."""
        found = list[Version]()
        for record in log_records(self._path):
            found += self._batch(record)
            for offset, length in zip(record.offsets, record.lengths, strict=True):
                self._starts.append(self._size)
                self._offsets.append(offset)
                self._size += length
        yield from sorted(found)

    def records(self, offset: int, size: int) -> list[DatumRecord]:
        """Return a list that contains only the record of a version, because each version counts as a block."""
        data = self._read(offset, size)
        start, end = sized_span(data, 1)
        return [DatumRecord(data[start:end], data[slice(*sized_span(data, end))])]

    def _batch(self, record: LogRecord) -> Iterator[Version]:
        data, place = record.data, BATCH_HEADER
        count = int.from_bytes(data[8:BATCH_HEADER], "little")
        number = int.from_bytes(data[:8], "little")
        while place < len(data):
            start, kind = place, data[place]
            try:
                key, key_end = sized_span(data, place + 1)
                place = sized_span(data, key_end)[1] if kind == VALUE else key_end
            except BinaryError:
                place = len(data) + 1
            if place > len(data) or kind > VALUE or not count:
                raise damaged(self._path, record.offsets[0], f"byte {start:,} of a batch isn't the start of a record")
            tag = -(number << 8 | kind)
            yield Version(data[key:key_end], tag, self._file, self._size + start, place - start, 0)
            number, count = number + 1, count - 1
        if count or len(data) < BATCH_HEADER:
            raise damaged(self._path, record.offsets[0], "a batch has fewer records than its header states")

    def _read(self, start: int, size: int) -> bytes:
        """Return data that may be spread over several fragments."""
        pieces, number = list[bytes](), bisect_right(self._starts, start) - 1
        with file_errors(self._path), self._path.open("rb", buffering=0) as file:
            while size:
                end = self._starts[number + 1] if number + 1 < len(self._starts) else self._size
                skipped = start - self._starts[number]
                piece = os.pread(file.fileno(), min(size, end - start), self._offsets[number] + skipped)
                if len(piece) < min(size, end - start):
                    raise truncated(self._path, "record")
                pieces.append(piece)
                start, size, number = end, size - len(piece), number + 1
        return b"".join(pieces)
