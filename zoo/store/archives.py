"""Archives of models: zip and tar files. Only plain files are extracted, under their base names and up to a size
limit."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile
from typing import IO, Self, cast

from caffe_proto.errors import few
from caffe_proto.limits import STORED_TIMES, Ledger, Limit
from zoo.store.errors import StoreError
from zoo.store.incoming_folder import FileKind, IncomingFolder, check_distinct, is_kept, kind_of, stored_name

_BLOCK = 1 << 20
_SHOWN = 5  # maximum number of names in a message
# kinds of files that show which folder of an archive contains the model
_MODEL_FILES = (FileKind.NET, FileKind.WEIGHTS)


@dataclass(frozen=True)
class _Member:
    """A file in an archive, with its path and the function that yields its blocks."""

    path: PurePosixPath
    pieces: Callable[[], Iterator[bytes]]


def unpack(archive: Path, folder: IncomingFolder, shown: str) -> str:
    """Extract the files of the only model in an archive, and return the model's folder in the archive. Errors begin
    with `shown`."""
    with _archive_errors(shown):
        model = _unpack_members(archive, folder, shown)
    return model.name


def _unpack_members(archive: Path, folder: IncomingFolder, shown: str) -> PurePosixPath:
    work = _UnpackingWork(archive, shown)
    with ExitStack() as stack:
        if zipfile.is_zipfile(archive):
            members = list(_zip_members(stack.enter_context(zipfile.ZipFile(archive)), work))
        else:
            members = list(_tar_members(archive, work, stack.enter_context(TemporaryFile(dir=folder.path))))
        model = _model_folder([member.path for member in members], shown)
        chosen, left_out = dict[str, _Member](), list[str]()
        for member in members:
            if member.path.parent == model and is_kept(member.path.name):
                chosen[member.path.name] = member  # instead of an earlier member with the same name
            else:
                left_out.append(str(member.path))
        check_distinct(chosen, shown)
        for member in chosen.values():
            folder.receive(stored_name(member.path.name), member.pieces(), shown)
    report_left_out(folder, left_out, shown)
    return model


def report_left_out(folder: IncomingFolder, names: list[str], shown: str) -> None:
    """Report the files that were left out, and the reasons."""
    pickled = [name for name in names if kind_of(name) is FileKind.PICKLED]
    others = [name for name in names if name not in pickled]
    if pickled:
        folder.tell(f"{shown}: left out {few(pickled, _SHOWN)}, since loading a pickled file can run any code")
    if others:
        folder.tell(f"{shown}: left out {few(others, _SHOWN)}")


def _model_folder(paths: list[PurePosixPath], shown: str) -> PurePosixPath:
    """Return the model's folder in an archive: the highest folder with a net or weights."""
    folders = {path.parent for path in paths if kind_of(path.name) in _MODEL_FILES}
    if not folders:
        raise StoreError(
            f"{shown}: the archive contains neither a net nor weights; name an archive with a .prototxt, a "
            ".caffemodel or other weights"
        )
    depth = min(len(folder.parts) for folder in folders)
    highest = sorted(folder for folder in folders if len(folder.parts) == depth)
    if len(highest) > 1:
        names = few(map(str, highest), _SHOWN)
        raise StoreError(
            f"{shown}: the archive contains several models, {names}; unpack it, and pull the folder of one of them"
        )
    return highest[0]


class _UnpackingWork:
    """The members and the bytes of an archive that have been read, whatever numbers the archive states."""

    def __init__(self, archive: Path, shown: str) -> None:
        self.shown, self._ledger, self._by_size = shown, Ledger(), STORED_TIMES * archive.stat().st_size

    def add_member(self) -> None:
        """Count a member of any kind."""
        self._ledger.charge(Limit.ARCHIVE_MEMBERS, 1, f"{self.shown}: the archive")

    def add_bytes(self, count: int) -> None:
        """Count bytes after they are unpacked."""
        for limit, by_size in ((Limit.ARCHIVE_BYTES, 0), (Limit.ARCHIVE_GROWTH, self._by_size)):
            self._ledger.charge(limit, count, f"{self.shown}: the archive", by_size)

    def add_header(self, count: int) -> None:
        """Count the bytes of a header that are about to be read."""
        self._ledger.charge(Limit.ARCHIVE_HEADERS, count, f"{self.shown}: the archive")

    def blocks(self, file: IO[bytes]) -> Iterator[bytes]:
        """Yield the blocks of a compressed file."""
        while block := file.read(_BLOCK):
            self.add_bytes(len(block))
            yield block


def _path_inside(name: str, shown: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if not name or path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name or not name.isprintable():
        raise StoreError(
            f"{shown}: the archive names a file '{name}', which would be outside the model's folder, so it "
            "isn't unpacked; pull the model from another address"
        )
    return path


def _zip_members(file: zipfile.ZipFile, work: _UnpackingWork) -> Iterator[_Member]:
    """Yield the files of a zip file. Raises an error at the first member that isn't a plain file, or whose path leads
    outside."""

    def pieces(info: zipfile.ZipInfo) -> Iterator[bytes]:
        with file.open(info) as content:
            yield from work.blocks(content)

    for info in file.infolist():
        work.add_member()
        path = _path_inside(info.filename, work.shown)
        kind = info.external_attr >> 28  # type bits of a Unix file's mode
        if info.is_dir():
            continue
        if kind not in (0, 8):
            raise StoreError(
                f"{work.shown}: '{path}' is a link or a device, so the archive isn't unpacked; unpack it "
                "yourself, and pull the model's folder"
            )
        yield _Member(path, partial(pieces, info))


def _tar_members(archive: Path, work: _UnpackingWork, unpacked: IO[bytes]) -> Iterator[_Member]:
    """Yield the files of a tar file, as `_zip_members` does. A compressed file is decompressed to `unpacked`."""

    class CountedHeader(tarfile.TarInfo):
        @classmethod
        def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
            work.add_member()
            return super().frombuf(buf, encoding, errors)

    with _decompressed(archive) as stream:
        for block in work.blocks(stream):
            unpacked.write(block)
    unpacked.seek(0)
    headers = cast("IO[bytes]", _Headers(unpacked, work))
    with tarfile.open(fileobj=headers, mode="r:", tarinfo=CountedHeader) as file:
        for info in file:
            path = _path_inside(info.name, work.shown)
            _check_size(info.size)
            if info.isdir():
                continue
            if not info.isreg() or info.issparse():
                raise StoreError(
                    f"{work.shown}: '{path}' is a link or a device, so the archive isn't unpacked; unpack it "
                    "yourself, and pull the model's folder"
                )
            yield _Member(path, partial(_content, unpacked, info))


def _content(unpacked: IO[bytes], info: tarfile.TarInfo) -> Iterator[bytes]:
    """Yield the blocks of a file in a tar file."""
    rest = info.size
    unpacked.seek(info.offset_data)
    while rest:
        block = unpacked.read(min(_BLOCK, rest))
        if not block:
            raise EOFError("the last file is cut short")
        rest -= len(block)
        yield block


def _decompressed(archive: Path) -> IO[bytes]:
    with archive.open("rb") as file:
        start = file.read(6)
    if start.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.open(archive))
    if start.startswith(b"BZh"):
        return bz2.open(archive)
    return lzma.open(archive) if start.startswith(b"\xfd7zXZ") else archive.open("rb")


class _Headers:
    """The headers of a tar file. tarfile reads them whole, and some of them several times."""

    def __init__(self, file: IO[bytes], work: _UnpackingWork) -> None:
        self.tell, self.seek = file.tell, file.seek
        self._file, self._work = file, work

    def read(self, size: int) -> bytes:
        """Read a part of a header."""
        _check_size(size)
        self._work.add_header(size)
        return self._file.read(size)


def _check_size(size: int) -> None:
    if size < 0:
        raise tarfile.ReadError("its structure is damaged")


@contextmanager
def _archive_errors(shown: str) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError) as problem:
        raise StoreError(f"{shown}: the archive is incomplete or damaged: {problem}; download it again") from None
    except (RuntimeError, NotImplementedError) as problem:  # zipfile's errors for a password or an unknown compression
        raise StoreError(
            f"{shown}: the archive can't be unpacked: {problem}; unpack it yourself, and name the folder"
        ) from None
