"""Reads LMDB, the database that convert_imageset writes by default. Files are checked while they are read."""

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

from caffe_proto.errors import few
from netdsl.data.sources.datum import DatumRecord, DatumSource, check_folder
from netdsl.data.sources.files import file_errors, regular_file
from netdsl.data.transforms.decode import Color
from netdsl.errors import DataError, DataWarning

LMDB_FILE = "data.mdb"  # in a database's folder
_HEADER = struct.Struct("<QHHHH")  # of a page: number, unused, kind, end of the nodes' places, start of the nodes
_META = struct.Struct("<II16xI44x4xHH24xQQQQ")  # the fields of _Meta, without those that aren't needed
_FIRST_NODE = _HEADER.size // 2  # the index of the first node's place, in units of two bytes
_MAGIC = struct.pack("<I", 0xBEEFC0DE)
_VERSION = 1
_PAGE_SIZES = [1 << bits for bits in range(9, 17)]
_BRANCH, _LEAF, _OVERFLOW, _META_PAGE, _KINDS = 1, 2, 4, 8, 0x6F  # kinds of pages, and the bits that contain the kind
_NO_PAGE = (1 << 64) - 1
_NODE = 8  # bytes before the key: two halves of a size, flags, and the key's size
_SMALLEST_RECORD = 2 + _NODE  # bytes in a leaf
_SEVERAL_VALUES = 4  # a flag of databases whose keys can have several values
_LARGE = 1  # the flag of a node whose value is in separate pages; other flags mean a nested database
_DEPTH = 32  # LMDB's limit

_NODES = "has records or pages outside of it"
_LEAVES = 256  # leaves that are read at once; NumPy takes the same time for a single one

Numbers = NDArray[np.int64]


class _Meta(NamedTuple):
    """The fields of a meta page, which describe the database after a transaction."""

    magic: int
    version: int
    page_size: int
    flags: int
    depth: int
    records: int
    root: int
    last_page: int
    transaction: int


class _Nodes(NamedTuple):
    """The nodes of some pages: the pages' bytes, the page and place of each node, and the four numbers in it."""

    content: bytes
    numbers: Numbers  # the number of each node's page
    offsets: Numbers  # the page's place in `content`
    starts: Numbers  # the node's place in its page
    low: Numbers
    high: Numbers
    flags: Numbers
    key_sizes: Numbers


class LmdbFile:
    """The records in an LMDB's folder, in the order of their keys.

    An index of the records' places grows as far as it is needed, so reading in order needs no preparation. The file is
    neither mapped nor locked. It can be on a read-only disk, and many threads and processes can read it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with file_errors(path):
            self._descriptor = os.open(regular_file(path / LMDB_FILE), os.O_RDONLY | os.O_CLOEXEC)
        self._close = finalize(self, os.close, self._descriptor)
        self._meta = self._newest_meta()
        self._check_meta()
        root = [] if self._meta.root == _NO_PAGE else [(np.array([self._meta.root]), 1)]
        self._stack: list[tuple[Numbers, int]] = root  # unread sibling pages, and their depth
        self._leaves_at_once = _LEAVES
        self._seen = set[int]()
        self._places, self._sizes, self._large = array("Q"), array("I"), bytearray()  # the places and sizes of values
        self._keys, self._key_ends = bytearray(), array("Q", [0])
        self._lock = Lock()

    def __len__(self) -> int:
        return self._meta.records

    def record(self, index: int) -> DatumRecord:
        """Return one record."""
        if index >= len(self._places):
            with self._lock:
                while index >= len(self._places):
                    self._index_next_pages()
        key = bytes(self._keys[self._key_ends[index] : self._key_ends[index + 1]])
        place, size = self._places[index], self._sizes[index]
        if not self._large[index]:
            return DatumRecord(key, self._read(place, size))
        data = self._read(place, _HEADER.size + size)
        number, _, kind, *_ = _HEADER.unpack_from(data)
        if number != place // self._meta.page_size or kind & _KINDS != _OVERFLOW:
            raise self._damaged(
                f"page {place // self._meta.page_size} doesn't contain a value; write it again with `zoo data convert`"
            )
        return DatumRecord(key, data[_HEADER.size :])

    def close(self) -> None:
        """Close the file."""
        self._close()

    def _newest_meta(self) -> _Meta:
        """Return the meta page of the last transaction.

        Transactions write to two meta pages in turn, and the other page may be damaged.
        """
        start = self._start(0)
        first = self._meta_at(0)
        sizes = _PAGE_SIZES if first is None else [first.page_size]
        others = (meta for size in sizes if (meta := self._meta_at(size)) is not None and meta.page_size == size)
        metas = [meta for meta in (first, next(others, None)) if meta is not None]
        if not metas:
            what = (
                f"{LMDB_FILE} isn't an LMDB file, or is damaged at its start (MDB_INVALID); copy its whole folder again"
            )
            if start[12:16] == _MAGIC:
                what = "it is from a 32-bit machine; dump it with mdb_dump there, and load it with mdb_load here"
            elif start[16:20] == _MAGIC[::-1]:
                what = "it is from a big-endian machine; dump it with mdb_dump there, and load it with mdb_load here"
            elif start[16:20] == _MAGIC and int.from_bytes(start[20:24], "little") != _VERSION:
                what = (
                    f"its format has version {int.from_bytes(start[20:24], 'little')}, but only {_VERSION} can be "
                    "read; dump it with its own mdb_dump, and load it with mdb_load"
                )
            raise DataError(f"{self._path}: can't be opened as an LMDB: {what}")
        if len(metas) == 1:
            doubt = "one of its two meta pages is damaged, so the records that were written last may be missing"
            warnings.warn(f"{self._path}: {doubt}", DataWarning, stacklevel=2)
        return max(metas, key=lambda meta: meta.transaction)

    def _start(self, place: int) -> bytes:
        """Return the bytes at the place of a meta page. A truncated file has fewer bytes."""
        with file_errors(self._path):
            return os.pread(self._descriptor, _HEADER.size + _META.size, place)

    def _meta_at(self, place: int) -> _Meta | None:
        """Return the meta page at a place, or `None` if there is no valid one."""
        data = self._start(place)
        if len(data) < _HEADER.size + _META.size or not _HEADER.unpack_from(data)[2] & _META_PAGE:
            return None
        meta = _Meta(*_META.unpack_from(data, _HEADER.size))
        valid = data[_HEADER.size :].startswith(_MAGIC) and meta.version == _VERSION and meta.page_size in _PAGE_SIZES
        return meta if valid else None

    def _check_meta(self) -> None:
        meta = self._meta
        with file_errors(self._path):
            size, needed = os.fstat(self._descriptor).st_size, (meta.last_page + 1) * meta.page_size
        if size < needed:
            raise DataError(
                f"{self._path}: {LMDB_FILE} is truncated: it has {size:,} of {needed:,} bytes; copy its whole "
                "folder again"
            )
        if meta.flags & _SEVERAL_VALUES:
            raise DataError(
                f"{self._path}: its keys can have several values, unlike Caffe's; write it again with `zoo data "
                "convert`"
            )
        if meta.root != _NO_PAGE and not (2 <= meta.root <= meta.last_page and 1 <= meta.depth <= _DEPTH):
            raise self._damaged(
                f"its first page is {meta.root}, and it has {meta.depth} levels of pages; write it again with "
                "`zoo data convert`"
            )
        if meta.records > needed // _SMALLEST_RECORD or bool(meta.records) != (meta.root != _NO_PAGE):
            raise self._damaged(f"it can't have {meta.records:,} records; write it again with `zoo data convert`")

    def _damaged(self, what: str) -> DataError:
        return DataError(f"{self._path}: the database is damaged: {what}")

    def _read(self, place: int, size: int) -> bytes:
        try:
            data = os.pread(self._descriptor, size, place)
        except OSError as problem:
            raise DataError(
                f"{self._path}: can't be read: {problem.strerror}; check the path and its permissions"
            ) from None
        if len(data) < size:
            raise DataError(
                f"{self._path}: {LMDB_FILE} ends within a record, so it was truncated after it was opened; copy "
                "its whole folder again"
            )
        return data

    def _index_next_pages(self) -> None:
        """Add the records of the next leaves to the index, or push the pages below the next branch onto the stack.

        Damaged pages stay on the stack, so that no later record gets the number of an unreadable one.
        """
        if not self._stack:
            raise self._damaged(
                f"it has {len(self._places):,} of {self._meta.records:,} records; write it again with `zoo data "
                "convert`"
            )
        numbers, depth = self._stack[-1]
        is_leaf = depth == self._meta.depth
        count = self._leaves_at_once if is_leaf else 1
        try:
            nodes = self._nodes(numbers[:count], _LEAF if is_leaf else _BRANCH)
            if is_leaf:
                self._index_records(nodes)
        except DataError:
            if count == 1:
                raise
            self._leaves_at_once = 1  # finds the records before the damaged page
            return
        self._seen.update(numbers[:count].tolist())
        self._stack[-1] = (numbers[count:], depth)
        if len(numbers) <= count:
            self._stack.pop()
        if not is_leaf:
            self._stack.append((nodes.low | nodes.high << 16 | nodes.flags << 32, depth + 1))

    def _nodes(self, numbers: Numbers, kind: int) -> _Nodes:
        """Return the nodes of pages that have the same kind."""
        size, outside = self._meta.page_size, (numbers < 2) | (numbers > self._meta.last_page)
        listed = numbers.tolist()
        if outside.any() or len(set(listed)) < len(listed) or not self._seen.isdisjoint(listed):
            some = few(map(str, listed), 3)
            raise self._damaged(
                f"the tree of its pages leads out of the file, or to a page twice, as {some}; write it again "
                "with `zoo data convert`"
            )
        content = b"".join([self._read(number * size, size) for number in listed])
        halves = np.frombuffer(content, "<u2").reshape(len(listed), -1)
        own_numbers = np.frombuffer(content, "<u8").reshape(len(listed), -1)[:, 0]
        kinds, lower, upper = halves[:, 5:_FIRST_NODE].astype(np.int64).T
        wrong = (own_numbers != numbers.astype(np.uint64)) | (kinds & _KINDS != kind)
        wrong |= (lower < _HEADER.size) | (lower > upper) | (upper > size) | (lower % 2 != 0)
        self._refuse(wrong, numbers, f"isn't a {'leaf' if kind == _LEAF else 'branch'}")
        counts = (lower - _HEADER.size) // 2
        pages, ends = np.repeat(np.arange(len(listed)), counts), np.cumsum(counts)
        columns = _FIRST_NODE + np.arange(len(pages)) - np.repeat(ends - counts, counts)
        starts = halves[pages, columns].astype(np.int64)
        self._refuse((starts < upper[pages]) | (starts > size - _NODE) | (starts % 2 != 0), numbers[pages], _NODES)
        fields = halves.reshape(-1)[pages * (size // 2) + starts // 2 + np.arange(4)[:, np.newaxis]]
        return _Nodes(content, numbers[pages], pages * size, starts, *fields.astype(np.int64))

    def _refuse(self, wrong: NDArray[np.bool], numbers: Numbers, what: str) -> None:
        """Raise a `DataError` about the first page for which `wrong` is true."""
        if wrong.any():
            raise self._damaged(f"page {numbers[wrong.argmax()]} {what}; write it again with `zoo data convert`")

    def _index_records(self, nodes: _Nodes) -> None:
        """Add the records of leaves to the index."""
        if (nodes.flags & ~_LARGE).any():
            raise DataError(
                f"{self._path}: the database contains nested databases or several values for a key, unlike "
                "Caffe's; write it again with `zoo data convert`"
            )
        size, values, sizes = self._meta.page_size, nodes.starts + _NODE + nodes.key_sizes, nodes.low | nodes.high << 16
        large = nodes.flags == _LARGE
        self._refuse(values + np.where(large, _NODE, sizes) > size, nodes.numbers, _NODES)
        content = np.frombuffer(nodes.content, np.uint8)
        places = nodes.numbers * size + values
        if large.any():
            page_numbers = (nodes.offsets + values)[large, np.newaxis] + np.arange(8)
            pages = content[page_numbers].view("<u8")[:, 0]
            ends = pages.astype(np.float64) * size + _HEADER.size + sizes[large]  # as floats, which can't overflow
            outside = (pages < 2) | (ends > (self._meta.last_page + 1) * size)
            self._refuse(outside, nodes.numbers[large], "has a value beyond the end of the file")
            places[large] = pages.astype(np.int64) * size
        keys, key_ends = nodes.offsets + nodes.starts + _NODE, np.cumsum(nodes.key_sizes)
        key_bytes = np.arange(nodes.key_sizes.sum()) + np.repeat(keys - key_ends + nodes.key_sizes, nodes.key_sizes)
        self._key_ends.frombytes((key_ends + len(self._keys)).astype(np.uint64).tobytes())
        self._keys += content[key_bytes].tobytes()
        self._sizes.frombytes(sizes.astype(np.uint32).tobytes())
        self._large += large.tobytes()
        self._places.frombytes(places.astype(np.uint64).tobytes())


class LmdbSource(DatumSource):
    """The records of an LMDB. Nothing is locked or written, so the database can be on a read-only disk.

    Because there is no lock, no process may change the database while it is read.
    """

    def __init__(self, path: str | Path, color: Color = Color.AS_STORED) -> None:
        super().__init__(path, color)
        check_folder(self.path, LMDB_FILE, "an LMDB")
        self._file = LmdbFile(self.path)
        if not len(self._file):
            raise DataError(f"{path}: the LMDB is empty; write it again, or name a database with records")

    def __len__(self) -> int:
        return len(self._file)

    def fetch(self, index: int) -> DatumRecord:
        """Return one record."""
        return self._file.record(index)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
