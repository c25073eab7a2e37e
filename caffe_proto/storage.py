"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from caffe_proto.errors import FileError
from caffe_proto.wire import Buffer


def write_pieces(path: str | Path, pieces: Iterable[Buffer]) -> None:
    """Write one piece after the other, so that no reader ever sees a part of the file."""
    with replacing(path) as temporary, temporary.open("wb", buffering=0) as file:
        for block in _blocks(pieces):
            rest = block
            while rest:  # a single call may write less
                rest = rest[file.write(rest) :]


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
