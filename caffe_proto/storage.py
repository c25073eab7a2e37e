"""Atomic writing: a file is there whole or not at all."""

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
    """Write pieces one after the other, so that no reader ever sees a part of the file."""
    with atomic_path(path, nameless=True) as temporary, _open_without_truncating(temporary) as file:
        for block in _blocks(pieces):
            rest = block
            while rest:  # a single call may write less
                rest = rest[file.write(rest) :]


def _open_without_truncating(path: Path) -> FileIO:
    """Open a file without truncating it, because ext4 waits for the disk when a truncated file is closed."""
    return FileIO(os.open(path, os.O_WRONLY | os.O_CREAT, 0o666), "wb")


@contextmanager
def atomic_path(path: str | Path, *, nameless: bool = False) -> Iterator[Path]:
    """A temporary path to write to, which replaces `path` on success and is removed on an error.

    With `nameless`, the temporary file vanishes even if the process is killed; not every library can write to one.
    """
    path = Path(path)
    try:
        target = _target(path)
        if target.exists() and not target.is_file():  # a pipe or /dev/stdout can't be replaced
            yield target
            return
        handle = _open_nameless(target.parent) if nameless else None
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
    """The path with links followed, which must be one that can be written to."""
    try:
        target = Path(os.path.realpath(path))
    except ValueError:
        raise FileError(f"{path}: no file can have this name") from None
    if target.is_dir():
        raise FileError(f"{path}: is a directory; name a file in it")
    if target.is_symlink():
        raise FileError(f"{path}: is a link that leads to itself; remove it")
    return target


def _open_nameless(folder: Path) -> int | None:
    """The descriptor of a file without a name, or None where the system has no such files."""
    try:
        return os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o666)
    except (AttributeError, OSError):
        return None


def _blocks(pieces: Iterable[Buffer], size: int = 1 << 19) -> Iterator[memoryview]:
    """The pieces in blocks of one size, so that small ones cost few calls and big ones lie on page boundaries.

    The kernel takes twice as long for bytes that don't. A block is valid until the next one is taken.
    """
    block, filled = memoryview(bytearray(size)), 0
    for piece in pieces:
        rest = memoryview(piece)
        while rest:
            chunk = rest[: size - filled]
            block[filled : filled + len(chunk)] = chunk
            filled, rest = filled + len(chunk), rest[len(chunk) :]
            if filled == size:
                yield block
                filled = 0
    yield block[:filled]
