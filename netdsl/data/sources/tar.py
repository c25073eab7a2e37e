"""Reads the headers of tar files that aren't trusted: ustar, pax, and GNU's long names. Nothing is unpacked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from caffe_proto.limits import Limit
from caffe_proto.whole_numbers import whole_number
from netdsl.errors import DataError

_BLOCK = 512
_END = bytes(_BLOCK)
_PADDING = 1 << 20  # the most zeros that programs write after the last file
_LONGEST_NAME = 4096
_LONG, _NEGATIVE = b"\x80", b"\xff"  # the first byte of numbers that aren't octal
_POSIX = b"ustar\0"
_FILES, _FOLDER = (b"0", b"\0", b"7"), b"5"
_LONG_NAME = b"L"  # GNU's header with the name of the next file
_EXTRA = (_LONG_NAME, b"x")  # headers about the next file; x is pax's
_ABOUT_OTHERS = (b"g", b"K", b"V")  # headers that change neither the name nor the size of a file
_SPARSE = b"S"
_LINK = ("a link, which isn't followed", "write the tar with `tar --dereference --hard-dereference`")
_DEVICE = ("a device or a pipe, which isn't data", "leave it out of the tar")
_NOT_FILES = {
    **dict.fromkeys((b"1", b"2"), _LINK),
    **dict.fromkeys((b"3", b"4", b"6"), _DEVICE),
    _SPARSE: ("stored as sparse", "write the tar again without `--sparse`"),
}  # types of members, and what to do
_COMPRESSED = {
    b"\x1f\x8b": "gunzip",
    b"BZh": "bunzip2",
    b"\xfd7zXZ": "unxz",
    b"\x28\xb5\x2f\xfd": "unzstd",
}  # first bytes, and the program that unpacks them


class TarMember(NamedTuple):
    """A plain file in a tar, and the place of its bytes."""

    name: str
    offset: int
    size: int


class TarHeaders:
    """Reads the headers of tar files, and counts them all."""

    def __init__(self) -> None:
        self._count, self._most = 0, Limit.SHARD_MEMBERS.most

    def files(self, file: BinaryIO, path: Path) -> Iterator[TarMember]:
        """Yield the plain files of an open tar, in its order.

        Folders are left out. Links, devices, sparse files and damage raise a `DataError`. So does a tar without its
        end, because it is probably cut short.
        """
        length, place = os.fstat(file.fileno()).st_size, 0
        name, size = b"", None  # those in an extra header, for the file that follows
        _check_start(_bytes_at(file, 0, _BLOCK), path)
        while (block := _bytes_at(file, place, _BLOCK)) != _END:
            self._count += 1
            if self._count > self._most:
                raise Limit.SHARD_MEMBERS.problem(self._count, f"{path}: the data", self._most)
            here = _Place(path, place)
            header = _Header(block, here)
            place += _BLOCK
            if header.kind in _EXTRA:
                _check_end(place + header.size, length, here)
                if header.kind == _LONG_NAME:
                    _check_name(header.size - 1, here)
                    name = _bytes_at(file, place, header.size).partition(b"\0")[0]
                else:
                    Limit.ARCHIVE_HEADERS.check(header.size, str(here))
                    name, size = _records(_bytes_at(file, place, header.size), here)
            elif header.kind not in _ABOUT_OTHERS:
                member = TarMember(
                    (name or header.name).decode("utf-8", "surrogateescape"),
                    place,
                    header.size if size is None else size,
                )
                name, size = b"", None
                _check_name(len(member.name), here)
                if header.kind == _FOLDER or member.name.endswith("/"):
                    continue  # nothing follows, whatever the size
                _check_kind(header.kind, member.name, path)
                _check_end(place + member.size, length, here)
                yield member
                place += _padded(member.size)
                continue
            place += _padded(header.size)
        if name or size is not None:
            raise _damaged("no file follows the header before it", _Place(path, place))
        _check_rest(_bytes_at(file, place, _PADDING + 1), path, place)


class _Place(NamedTuple):
    """The place of a header. Its text begins errors."""

    path: Path
    byte: int

    def __str__(self) -> str:
        return f"{self.path}: the header at byte {self.byte:,}"


class _Header:
    """The fields of a header whose checksum is right."""

    __slots__ = ("kind", "name", "size")

    def __init__(self, block: bytes, place: _Place) -> None:
        if len(block) < _BLOCK:
            raise DataError(
                f"{place}: the file ends without the tar's end, so it is probably cut short; copy or write it again"
            )
        checksum = block[148:156]
        if sum(block) - sum(checksum) + len(checksum) * ord(" ") != _number(checksum, place):
            raise _damaged("its checksum is wrong", place)
        self.kind, self.size = block[156:157], _number(block[124:136], place)
        self.name = block[:100].partition(b"\0")[0]
        if block[345] and block[257:263] == _POSIX:
            self.name = block[345:500].partition(b"\0")[0] + b"/" + self.name


def _number(field: bytes, place: _Place) -> int:
    """Return an octal number, or one that GNU stores as bytes because it has more digits."""
    if field[:1] == _LONG:
        return int.from_bytes(field[1:])
    digits = field.strip(b" \0")
    if field[:1] == _NEGATIVE or digits.strip(b"01234567"):
        raise _damaged("a number in it isn't octal", place)
    return int(digits or b"0", 8)


def _records(data: bytes, place: _Place) -> tuple[bytes, int | None]:
    """Return the name and the size in pax's records, each of which is its length, a space, KEY=VALUE and a line end."""
    name, size, start = b"", None, 0
    while start < len(data):
        digits = data[start : start + 20].partition(b" ")[0]
        length = whole_number(digits.decode("ascii", "replace"), len(digits) + 3, len(data) - start)
        if length is None:
            raise _damaged("a record in it has a wrong length", place)
        key, _, value = data[start + len(digits) + 1 : start + length - 1].partition(b"=")
        start += length
        if key.startswith(b"GNU.sparse."):
            what, advice = _NOT_FILES[_SPARSE]
            raise DataError(f"{place}: the next file is {what}; {advice}")
        if key == b"path":
            name = value
        elif key == b"size":
            size = whole_number(value.decode("ascii", "replace"))
            if size is None:
                raise _damaged("the size in it isn't a whole number", place)
    return name, size


def _bytes_at(file: BinaryIO, place: int, count: int) -> bytes:
    file.seek(place)
    return file.read(count)


def _padded(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _check_start(block: bytes, path: Path) -> None:
    program = next((program for start, program in _COMPRESSED.items() if block.startswith(start)), None)
    if program is not None:
        raise DataError(
            f"{path}: the tar is compressed, so its samples can't be read in any order; unpack it with `{program}`, "
            "which keeps it a tar"
        )


def _check_rest(rest: bytes, path: Path, place: int) -> None:
    if len(rest) > _PADDING or rest.strip(b"\0"):
        raise DataError(
            f"{path}: more data follow the tar's end at byte {place:,}, and no program would read them; join tars with "
            "`tar --concatenate`, or write the tar again"
        )


def _check_kind(kind: bytes, name: str, path: Path) -> None:
    """Raise a `DataError` unless a member is a plain file."""
    if kind not in _FILES:
        what, advice = _NOT_FILES.get(kind, (f"of the unknown type {kind!r}", "write the tar with `tar --format=pax`"))
        raise DataError(f"{path}: '{name}' is {what}; {advice}")


def _check_end(end: int, length: int, place: _Place) -> None:
    """Raise a `DataError` if the content after a header isn't in the file."""
    if end > length:
        raise DataError(
            f"{place}: its content ends at byte {end:,}, but the file has only {length:,}, so it is cut short; copy or "
            "write it again"
        )


def _check_name(length: int, place: _Place) -> None:
    if length > _LONGEST_NAME:
        raise DataError(
            f"{place}: a name has {length:,} characters, more than the {_LONGEST_NAME:,} of a path; shorten it, or "
            "write the tar again if it is damaged"
        )


def _damaged(what: str, place: _Place) -> DataError:
    return DataError(f"{place}: {what}, so the file isn't a tar or is damaged; copy or write it again")
