"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from secrets import token_hex

from caffe_proto.errors import FileError
from caffe_proto.wire import Buffer


def write_pieces(path: str | Path, pieces: Iterable[Buffer]) -> None:
    """Write one piece after the other, so that no reader ever sees a part of the file."""
    with replacing(path, nameless=True) as temporary, _opened(temporary) as file:
        for block in _blocks(pieces):
            rest = block
            while rest:  # a single call may write less
                rest = rest[file.write(rest) :]


def _opened(path: Path) -> FileIO:
    """Opened without being truncated: ext4 would wait for the disk when such a file is closed."""
    return FileIO(os.open(path, os.O_WRONLY | os.O_CREAT, 0o666), "wb")


@contextmanager
def replacing(path: str | Path, *, nameless: bool = False) -> Iterator[Path]:
    """A path to write to, which takes the place of `path` when all went well and vanishes when not.

    A nameless one vanishes even when the process is killed, but not every library can write to it.
    """
    path = Path(path)
    try:
        target = _target(path)
        if target.exists() and not target.is_file():  # a pipe or /dev/stdout can't be replaced
            yield target
            return
        handle = _nameless(target.parent) if nameless else None
        hidden = target.with_name(f".{target.name[:40]}.{token_hex(8)}")
        try:
            yield hidden if handle is None else Path(f"/proc/self/fd/{handle}")
            if handle is not None:
                os.link(f"/proc/self/fd/{handle}", hidden, src_dir_fd=handle)  # without src_dir_fd it'd link the link
            if target.exists():
                hidden.chmod(target.stat().st_mode)
            hidden.replace(target)
        finally:
            hidden.unlink(missing_ok=True)
            if handle is not None:
                os.close(handle)
    except OSError as problem:
        raise FileError(f"{path}: can't be written: {problem.strerror or problem}") from None


def _target(path: Path) -> Path:
    """Where the links lead, if a path is one."""
    try:
        target = Path(os.path.realpath(path))
    except ValueError:
        raise FileError(f"{path}: no file can have this name") from None
    if target.is_dir():
        raise FileError(f"{path}: is a directory; name a file in it")
    if target.is_symlink():
        raise FileError(f"{path}: is a link that leads to itself; remove it")
    return target


def _nameless(folder: Path) -> int | None:
    """A file that no folder has yet; None where the system knows no such thing."""
    try:
        return os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o666)
    except (AttributeError, OSError):
        return None


def _blocks(pieces: Iterable[Buffer], size: int = 1 << 19) -> Iterator[memoryview]:
    """The pieces in blocks of one size: small ones cost few calls, and big ones land on page borders.

    The kernel takes twice as long for bytes that don't. A block is only valid until the next is asked for.
    """
    block, filled = memoryview(bytearray(size)), 0
    for piece in pieces:
        rest = memoryview(piece)
        while rest:
            taken = rest[: size - filled]
            block[filled : filled + len(taken)] = taken
            filled, rest = filled + len(taken), rest[len(taken) :]
            if filled == size:
                yield block
                filled = 0
    yield block[:filled]
