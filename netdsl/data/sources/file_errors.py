"""Faults of files, told with the file's name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from netdsl.errors import DataError


@contextmanager
def file_errors(path: str | Path, *more: type[Exception]) -> Iterator[None]:
    """A DataError for an OSError in here, and for what else the format's library raises."""
    faults: tuple[type[Exception], ...] = (OSError, *more)
    try:
        yield
    except faults as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise DataError(f"{path}: can't be read: {reason}") from None
