"""Errors of reading a file, which name the file."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from netdsl.errors import DataError


@contextmanager
def file_errors(path: str | Path, *more: type[Exception]) -> Iterator[None]:
    """Raise a DataError in place of an OSError, or of the other exceptions that a format's library raises."""
    exceptions: tuple[type[Exception], ...] = (OSError, *more)
    try:
        yield
    except MemoryError:
        raise DataError(
            f"{path}: doesn't fit into memory; the file is damaged, or must be split into several"
        ) from None
    except exceptions as problem:
        reason = getattr(problem, "strerror", None) or next(iter(str(problem).splitlines()), type(problem).__name__)
        raise DataError(f"{path}: can't be read: {reason}") from None


def regular_file(path: str | Path) -> Path:
    """The path of a regular file, or of a link to one. Pipes and devices are refused, since they may never end."""
    with file_errors(path, ValueError):  # of a name that no file can have
        mode = Path(path).stat().st_mode
    if stat.S_ISDIR(mode):
        raise DataError(f"{path}: is a folder; name a file in it")
    if not stat.S_ISREG(mode):
        raise DataError(f"{path}: is a pipe or a device; save its data in a regular file first")
    return Path(path)
