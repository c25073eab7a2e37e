"""Errors of reading a file, which name the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from caffe_proto.errors import FileError
from caffe_proto.storage import check_regular
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
    """The path of a regular file, or of a link to one. A pipe or a device may never end, so these are refused."""
    try:
        check_regular(Path(path), may_be_empty=True)
    except FileError as problem:
        raise DataError(str(problem)) from None
    return Path(path)
