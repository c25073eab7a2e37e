"""The file of an LMDB, read page by page. Every number in it is checked, for LMDB's own library trusts its files."""

from __future__ import annotations

import os
import struct
import warnings
from array import array
from pathlib import Path
from threading import Lock
from typing import NamedTuple
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from netdsl.data.sources.datum import DatumRecord
from netdsl.data.sources.file_errors import file_errors, regular_file
from netdsl.errors import DataError, DataWarning

LMDB_FILE = "data.mdb"  # in a database's folder
_HEADER = struct.Struct("<QHHHH")  # of a page: number, unused, kind, end of the nodes' places, start of the nodes
_META = struct.Struct("<II16xI44x4xHH24xQQQQ")  # the fields of _Meta, with what nobody needs left out
_MAGIC = struct.pack("<I", 0xBEEFC0DE)
_VERSION = 1
_PAGE_SIZES = [1 << bits for bits in range(9, 17)]
_BRANCH, _LEAF, _OVERFLOW, _META_PAGE, _KINDS = 1, 2, 4, 8, 0x6F  # kinds of pages, and the bits that say a kind
_NO_PAGE = (1 << 64) - 1
_NODE = 8  # bytes before the key: two halves of a size, flags, the key's size
_SMALLEST_RECORD = 2 + _NODE  # bytes in a leaf
_SEVERAL_VALUES = 4  # a flag of a database whose keys have several values each
_LARGE = 1  # the flag of a node whose value lies in pages of its own; others mean a database within the database
_DEPTH = 32  # LMDB's limit

Numbers = NDArray[np.int64]


class _Meta(NamedTuple):
    """What a meta page says of the database after a transaction."""

    magic: int
    version: int
    page_size: int
    flags: int
    depth: int
    records: int
    root: int
    last_page: int
    transaction: int


class LmdbFile:
    """The records in the folder of an LMDB, in the order of their keys.

    An index of where records lie grows as far as it is needed, so that reading in order needs no preparation. The file
    is neither mapped nor locked: it may be on a read-only disk, and be read by many threads and processes.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with file_errors(path):
            self._descriptor = os.open(regular_file(path / LMDB_FILE), os.O_RDONLY | os.O_CLOEXEC)
        self._close = finalize(self, os.close, self._descriptor)
        self._meta = self._newest_meta()
        self._check_meta()
        self._stack = [] if self._meta.root == _NO_PAGE else [(self._meta.root, 1)]  # pages to read, and their depths
        self._seen = set[int]()
        self._places, self._sizes, self._large = array("Q"), array("I"), bytearray()  # of values
        self._keys, self._key_ends = bytearray(), array("Q", [0])
        self._lock = Lock()

    def __len__(self) -> int:
        return self._meta.records

    def record(self, index: int) -> DatumRecord:
        """One record."""
        with self._lock:
            while len(self._places) <= index:
                self._index_next_page()
        start, end = self._key_ends[index : index + 2]
        key, place, size = bytes(self._keys[start:end]), self._places[index], self._sizes[index]
        if not self._large[index]:
            return DatumRecord(key, self._read(place, size))
        data = self._read(place, _HEADER.size + size)
        number, _, kind, *_ = _HEADER.unpack_from(data)
        if number != place // self._meta.page_size or kind & _KINDS != _OVERFLOW:
            raise self._damaged(f"page {place // self._meta.page_size} has no value in it")
        return DatumRecord(key, data[_HEADER.size :])

    def close(self) -> None:
        """Close the file."""
        self._close()

    def _newest_meta(self) -> _Meta:
        """The meta page of the last transaction. There are two, written in turns, and the other one may be damaged."""
        start = self._start(0)
        first = self._meta_at(0)
        sizes = _PAGE_SIZES if first is None else [first.page_size]
        others = (meta for size in sizes if (meta := self._meta_at(size)) is not None and meta.page_size == size)
        metas = [meta for meta in (first, next(others, None)) if meta is not None]
        if not metas:
            what = f"{LMDB_FILE} isn't LMDB's, or damaged at its start (MDB_INVALID)"
            if start[12:16] == _MAGIC:
                what = "it is from a 32-bit machine; dump it with mdb_dump there, and load it with mdb_load here"
            elif start[16:20] == _MAGIC[::-1]:
                what = "it is from a big-endian machine; dump it with mdb_dump there, and load it with mdb_load here"
            elif start[16:20] == _MAGIC and int.from_bytes(start[20:24], "little") != _VERSION:
                what = f"its format has version {int.from_bytes(start[20:24], 'little')}, and {_VERSION} can be read"
            raise DataError(f"{self._path}: can't be opened as an LMDB: {what}")
        if len(metas) == 1:
            what = "one of its two meta pages is damaged, so the records that were written last may be missing"
            warnings.warn(f"{self._path}: {what}", DataWarning, stacklevel=2)
        return max(metas, key=lambda meta: meta.transaction)

    def _start(self, place: int) -> bytes:
        """The bytes in which a meta page would be, or as many as there are."""
        with file_errors(self._path):
            return os.pread(self._descriptor, _HEADER.size + _META.size, place)

    def _meta_at(self, place: int) -> _Meta | None:
        """The meta page at a place, if a valid one is there."""
        data = self._start(place)
        if len(data) < _HEADER.size + _META.size or not _HEADER.unpack_from(data)[2] & _META_PAGE:
            return None
        meta = _Meta(*_META.unpack_from(data, _HEADER.size))
        valid = data[_HEADER.size :].startswith(_MAGIC) and meta.version == _VERSION and meta.page_size in _PAGE_SIZES
        return meta if valid else None

    def _check_meta(self) -> None:
        meta = self._meta
        with file_errors(self._path):
            size, needed = os.stat(self._descriptor).st_size, (meta.last_page + 1) * meta.page_size
        if size < needed:
            raise DataError(f"{self._path}: {LMDB_FILE} is truncated: it has {size:,} of {needed:,} bytes; copy it again")
        if meta.flags & _SEVERAL_VALUES:
            raise DataError(f"{self._path}: its keys have several values each, and Caffe's have one")
        if meta.records > needed // _SMALLEST_RECORD or bool(meta.records) != (meta.root != _NO_PAGE):
            raise self._damaged(f"it can't have {meta.records:,} records")

    def _damaged(self, what: str) -> DataError:
        return DataError(f"{self._path}: the database is damaged: {what}")

    def _read(self, place: int, size: int) -> bytes:
        with file_errors(self._path):
            data = os.pread(self._descriptor, size, place)
        if len(data) < size:
            raise DataError(f"{self._path}: ends at a record; it was truncated while it is read")
        return data

    def _index_next_page(self) -> None:
        """Add the records of a leaf to the index, or the pages below a branch to the stack.

        What is damaged stays on the stack, so that a record never takes the number of one that can't be read.
        """
        if not self._stack:
            raise self._damaged(f"it has {len(self._places):,} of {self._meta.records:,} records")
        number, depth = self._stack[-1]
        if not 2 <= number <= self._meta.last_page or depth > _DEPTH or number in self._seen:
            raise self._damaged(f"page {number} is not in the tree of its pages, or twice")
        page = self._read(number * self._meta.page_size, self._meta.page_size)
        own_number, _, kind, lower, upper = _HEADER.unpack_from(page)
        if own_number != number or kind & _KINDS not in (_BRANCH, _LEAF):
            raise self._damaged(f"page {number} is neither a branch nor a leaf")
        if not _HEADER.size <= lower <= upper <= len(page) or lower % 2:
            raise self._damaged(f"page {number} is larger than a page")
        if kind & _KINDS == _LEAF:
            self._index_leaf(number, page)
            self._stack.pop()
        else:
            _, low, high, highest, _ = self._nodes(number, page)
            below = low | high << 16 | highest << 32
            self._stack.pop()
            self._stack.extend((child, depth + 1) for child in below[::-1].tolist())
        self._seen.add(number)

    def _nodes(self, number: int, page: bytes) -> tuple[Numbers, Numbers, Numbers, Numbers, Numbers]:
        """Where the nodes of a page are, and the four numbers that each begins with."""
        _, _, _, lower, upper = _HEADER.unpack_from(page)
        halves = np.frombuffer(page, "<u2").astype(np.int64)
        starts = halves[_HEADER.size // 2 : lower // 2]
        if (starts < upper).any() or (starts > len(page) - _NODE).any() or (starts % 2).any():
            raise self._damaged(f"page {number} has nodes outside of it")
        low, high, flags, key_sizes = halves[starts // 2 + np.arange(4)[:, np.newaxis]]
        return starts, low, high, flags, key_sizes

    def _index_leaf(self, number: int, page: bytes) -> None:
        starts, low, high, flags, key_sizes = self._nodes(number, page)
        if (flags & ~_LARGE).any():
            raise DataError(f"{self._path}: has databases in it, or several values of a key; Caffe's have neither")
        keys, values, sizes, large = starts + _NODE, starts + _NODE + key_sizes, low | high << 16, flags == _LARGE
        if (values + np.where(large, _NODE, sizes) > len(page)).any():
            raise self._damaged(f"page {number} has records beyond its end")
        content = np.frombuffer(page, np.uint8)
        places = values + number * len(page)
        if large.any():
            pages = content[values[large, np.newaxis] + np.arange(8)].view("<u8")[:, 0]
            ends = pages.astype(np.float64) * len(page) + _HEADER.size + sizes[large]  # can't overflow
            if (pages < 2).any() or (ends > (self._meta.last_page + 1) * len(page)).any():
                raise self._damaged(f"page {number} has records beyond the end of the file")
            places[large] = pages.astype(np.int64) * len(page)
        ends = np.cumsum(key_sizes)
        self._key_ends.frombytes((ends + len(self._keys)).astype(np.uint64).tobytes())
        self._keys += content[np.arange(key_sizes.sum()) + np.repeat(keys - ends + key_sizes, key_sizes)].tobytes()
        self._sizes.frombytes(sizes.astype(np.uint32).tobytes())
        self._large += large.tobytes()
        self._places.frombytes(places.astype(np.uint64).tobytes())
