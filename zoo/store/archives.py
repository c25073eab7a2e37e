"""Archives of models: zip and tar files. Only plain files are extracted, under their base names and up to a size
limit."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, cast

from caffe_proto.errors import few
from caffe_proto.limits import Limit
from zoo.store.errors import StoreError
from zoo.store.incoming_folder import FileKind, IncomingFolder, is_kept, kind_of, stored_name

_BLOCK = 1 << 20
_LONGEST_READ = 16 << 20  # limit of a tar file's headers, which are kept in memory
_SHOWN = 5  # maximum number of names in a message
# kinds of files that show which folder of an archive contains the model
_MODEL_FILES = (FileKind.NET, FileKind.WEIGHTS)


@dataclass(frozen=True)
class _Member:
    """A file in an archive, with its path and the function that opens it."""

    path: PurePosixPath
    open: Callable[[], IO[bytes]]


def unpack(archive: Path, folder: IncomingFolder, shown: str) -> str:
    """Extract the files of the only model in an archive, and return the model's folder in the archive. Errors begin
    with `shown`."""
    with _archive_errors(shown):
        model = _unpack_members(archive, folder, shown)
    return model.name


def _unpack_members(archive: Path, folder: IncomingFolder, shown: str) -> PurePosixPath:
    names = [member.path for member in _members(archive, folder, shown)]
    model = _model_folder(names, shown)
    left_out: list[str] = []
    budget = _Budget(folder.settings.most_bytes, shown)
    for member in _members(archive, folder, shown):
        if member.path.parent == model and is_kept(member.path.name):
            with member.open() as file:
                folder.receive(stored_name(member.path.name), budget.pieces(file), shown)
        else:
            left_out.append(str(member.path))
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


class _Budget:
    """The number of bytes that may still be unpacked, whatever size the archive states."""

    def __init__(self, most: int, shown: str) -> None:
        self._left, self._most, self._shown = most, most, shown

    def pieces(self, file: IO[bytes]) -> Iterator[bytes]:
        """Yield the blocks of a file."""
        while block := file.read(_BLOCK):
            self._left -= len(block)
            if self._left < 0:
                raise StoreError(
                    f"{self._shown}: the files unpack to more than {self._most:,} bytes; allow more with --max-size"
                )
            yield block


def _members(archive: Path, folder: IncomingFolder, shown: str) -> Iterator[_Member]:
    """Yield the files of an archive. Raises an error at the first member that isn't a plain file, or whose path leads
    outside."""
    kind = _zip_members if zipfile.is_zipfile(archive) else _tar_members
    for count, member in enumerate(kind(archive, folder.settings.most_bytes, shown), 1):
        Limit.ARCHIVE_MEMBERS.check(count, f"{shown}: the archive")
        yield member


def _path_inside(name: str, shown: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if not name or path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name or not name.isprintable():
        raise StoreError(
            f"{shown}: the archive names a file '{name}', which would be outside the model's folder, so it "
            "isn't unpacked; pull the model from another address"
        )
    return path


def _zip_members(archive: Path, most_bytes: int, shown: str) -> Iterator[_Member]:
    with zipfile.ZipFile(archive) as file:
        for info in file.infolist():
            path = _path_inside(info.filename, shown)
            kind = info.external_attr >> 28  # type bits of a Unix file's mode
            if info.is_dir():
                continue
            if kind not in (0, 8):
                raise StoreError(
                    f"{shown}: '{path}' is a link or a device, so the archive isn't unpacked; unpack it "
                    "yourself, and pull the model's folder"
                )
            yield _Member(path, partial(file.open, info))


def _tar_members(archive: Path, most_bytes: int, shown: str) -> Iterator[_Member]:
    with _decompressed(archive) as stream:
        limited = _LimitedStream(stream, most_bytes, shown)
        with tarfile.open(fileobj=limited, mode="r|") as file:
            for info in file:
                path = _path_inside(info.name, shown)
                if info.isdir():
                    continue
                if not info.isreg() or info.issparse():
                    raise StoreError(
                        f"{shown}: '{path}' is a link or a device, so the archive isn't unpacked; unpack it "
                        "yourself, and pull the model's folder"
                    )
                yield _Member(path, partial(_extracted, file, info))


def _extracted(file: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    content = file.extractfile(info)
    assert content is not None, "a regular file has content"
    return content


def _decompressed(archive: Path) -> IO[bytes]:
    with archive.open("rb") as file:
        start = file.read(6)
    if start.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.open(archive))
    if start.startswith(b"BZh"):
        return bz2.open(archive)
    return lzma.open(archive) if start.startswith(b"\xfd7zXZ") else archive.open("rb")


class _LimitedStream(io.RawIOBase):
    """The output of a compressed stream, up to a limit, so that a small file can't fill the memory or take forever."""

    def __init__(self, stream: IO[bytes], most: int, shown: str) -> None:
        self._stream, self._left, self._most, self._shown = (
            stream,
            most + Limit.ARCHIVE_MEMBERS.most * 1024,
            most,
            shown,
        )

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _LONGEST_READ:
            raise tarfile.ReadError("its structure is damaged")
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise StoreError(
                f"{self._shown}: the files unpack to more than {self._most:,} bytes; allow more with --max-size"
            )
        return data


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
