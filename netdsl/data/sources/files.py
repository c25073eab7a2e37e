"""Reading of files that aren't trusted: their errors, lines, texts and bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from caffe_proto.errors import FileError
from caffe_proto.storage import check_regular
from netdsl.errors import DataError

_LONGEST_LINE = 1 << 16  # characters of a line in a list
_LARGEST_IMAGE = 1 << 30  # bytes of an image file


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
    """Return the path of a regular file, or of a link to one. A pipe or a device may never end, so these are
    refused."""
    try:
        check_regular(Path(path), may_be_empty=True)
    except FileError as problem:
        raise DataError(str(problem)) from None
    return Path(path)


def numbered_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a list that aren't blank, with their numbers. Names needn't be UTF-8."""
    with file_errors(path), regular_file(path).open(encoding="utf-8", errors="surrogateescape") as file:
        for number, line in enumerate(short_lines(file, path, _LONGEST_LINE), 1):
            if line.strip():
                yield number, line.rstrip("\r\n")


def listed_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """Yield the same of a list that must name something."""
    number = 0
    for number, line in numbered_lines(path):
        yield number, line
    if not number:
        raise DataError(f"{path}: the list is empty")


def short_lines(file: TextIO, path: str | Path, longest: int) -> Iterator[str]:
    """Yield the lines of a text file, of which one that is too long is an error before it fills the memory."""
    number = 0
    while line := file.readline(longest + 1):
        number += 1
        if len(line) > longest:
            raise DataError(f"{path}:{number}: is a line of more than {longest:,} characters; the file is damaged")
        yield line


def read_bytes(path: str) -> bytes:
    """Return the bytes of an image that a list names."""
    with file_errors(path):
        size = regular_file(path).stat().st_size
        if size > _LARGEST_IMAGE:
            raise DataError(
                f"{path}: has {size:,} bytes, more than an image can have; the largest has {_LARGEST_IMAGE:,}"
            )
        return Path(path).read_bytes()


def read_text(path: Path, longest: int) -> str:
    """Return a whole text of this many characters at most."""
    with file_errors(path), regular_file(path).open(encoding="utf-8", newline="") as file:
        try:
            text = file.read(longest + 1)
        except UnicodeDecodeError:
            raise DataError(f"{path}: isn't text in UTF-8") from None
    if len(text) > longest:
        raise DataError(f"{path}: has more than {longest:,} characters; divide it into several files")
    return text
