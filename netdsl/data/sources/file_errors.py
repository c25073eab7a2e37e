"""Errors of reading a file, which name the file."""

from __future__ import annotations

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
    except exceptions as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise DataError(f"{path}: can't be read: {reason}") from None
