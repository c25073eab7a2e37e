"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

from caffe_proto.errors import FileError
from caffe_proto.wire import Buffer


def write_pieces(path: str | Path, pieces: Iterable[Buffer]) -> None:
    """Write one piece after the other, so that no reader ever sees a part of the file."""
    with replacing(path) as temporary, temporary.open("wb", buffering=0) as file:
        for piece in _gathered(pieces):
            _write_all(file, memoryview(piece))


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A path to write to, which takes the place of `path` when all went well and vanishes when not."""
    path = Path(path)
    target = path.resolve() if path.is_symlink() else path
    try:
        if target.exists() and not target.is_file():  # a pipe or /dev/stdout can't be replaced
            if target.is_dir():
                raise FileError(f"{path}: is a directory; name a file in it")
            yield target
            return
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        os.close(handle)
        temporary = Path(name)
        try:
            yield temporary
            temporary.chmod(target.stat().st_mode if target.exists() else 0o666 & ~_umask())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as problem:
        raise FileError(f"{path}: can't be written: {problem.strerror or problem}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _gathered(pieces: Iterable[Buffer], size: int = 1 << 16) -> Iterator[Buffer]:
    """Small pieces joined, so that a net of thousands of them costs few calls; big ones as they are."""
    small: list[Buffer] = []
    waiting = 0
    for piece in pieces:
        if len(piece) < size:
            small.append(piece)
            waiting += len(piece)
        if small and (len(piece) >= size or waiting >= size):
            yield b"".join(small)
            small, waiting = [], 0
        if len(piece) >= size:
            yield piece
    yield b"".join(small)


def _write_all(file: FileIO, view: memoryview) -> None:
    """A single call may write less: the kernel stops at 2 GB."""
    while view:
        view = view[file.write(view) :]
