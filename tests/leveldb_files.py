"""Writes LevelDB databases with records in a log, as the library leaves them, without the library."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from caffe_proto.wire import varint
from netdsl.data.sources.crc32c import masked_crc32c
from netdsl.data.sources.leveldb_log import BLOCK, FIRST, HEADER, LAST, MIDDLE, WHOLE
from netdsl.data.writing.leveldb import LevelDbWriter

Change = tuple[bytes, bytes | None]  # a key, and a value or `None` to delete it


def write_tables(path: Path, records: Iterable[tuple[bytes, bytes]]) -> Path:
    """Write a database whose records are in sorted tables, and return its path."""
    writer = LevelDbWriter(path)
    for key, value in records:
        writer.put(key, value)
    writer.finish()
    return path


def add_log(path: Path, batches: Iterable[Iterable[Change]], *, first_number: int = 1 << 20) -> Path:
    """Add a log with batches of changes to a database, and return the log's path."""
    content = bytearray()
    for batch in batches:
        changes = list(batch)
        record = first_number.to_bytes(8, "little") + len(changes).to_bytes(4, "little")
        for key, value in changes:
            record += bytes([value is not None]) + sized(key) + (b"" if value is None else sized(value))
        first_number += len(changes)
        add_log_record(content, record)
    log = path / "000900.log"
    log.write_bytes(content)
    return log


def add_log_record(content: bytearray, record: bytes) -> None:
    """Add a record to the content of a log, split into fragments at the ends of blocks."""
    start, is_first = 0, True
    while start < len(record) or is_first:
        rest = BLOCK - len(content) % BLOCK
        if rest < HEADER:
            content += bytes(rest)
            continue
        piece = record[start : start + rest - HEADER]
        start += len(piece)
        is_last = start == len(record)
        kind = (WHOLE if is_last else FIRST) if is_first else (LAST if is_last else MIDDLE)
        data = bytes([kind]) + piece
        content += masked_crc32c(data).to_bytes(4, "little") + len(piece).to_bytes(2, "little") + data
        is_first = False


def sized(data: bytes) -> bytes:
    """Return bytes with their length in front."""
    return varint(len(data)) + data
