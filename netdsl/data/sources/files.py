"""Reads lines, texts and bytes of files that aren't trusted, and converts their errors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from caffe_proto.addresses import local_path
from caffe_proto.errors import FileError, LimitError, in_file
from caffe_proto.limits import Limit
from caffe_proto.storage import check_regular
from netdsl.errors import DataError

_LARGEST_IMAGE = 1 << 30  # bytes of an image file


@contextmanager
def file_errors(path: str | Path, *more: type[Exception]) -> Iterator[None]:
    """Raise a `DataError` in place of an `OSError` or of the exceptions of a format's library, and put the file's name
    in front of a `LimitError`."""
    exceptions: tuple[type[Exception], ...] = (OSError, *more)
    try:
        yield
    except MemoryError:
        raise DataError(
            f"{path}: the file doesn't fit into memory; split it, or copy it again if it is damaged"
        ) from None
    except LimitError as problem:
        raise LimitError(in_file(path, problem)) from None
    except exceptions as problem:
        reason = getattr(problem, "strerror", None) or next(iter(str(problem).splitlines()), type(problem).__name__)
        raise DataError(f"{path}: can't be read: {reason}; check the path and its permissions") from None


def regular_file(path: str | Path) -> Path:
    """Return the path of a regular file or of a link to one.

    Pipes and devices are refused, because reading them may never end.
    """
    try:
        check_regular(local_path(path), may_be_empty=True)
    except FileError as problem:
        raise DataError(str(problem)) from None
    return Path(path)


def numbered_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a list, except blank ones, with their numbers. Names needn't be UTF-8."""
    with file_errors(path), regular_file(path).open(encoding="utf-8", errors="surrogateescape") as file:
        for number, line in enumerate(lines_within_limits(file), 1):
            if line.strip():
                yield number, line.rstrip("\r\n")


def listed_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """Yield the same as `numbered_lines`. Raises a `DataError` if the list is empty."""
    number = 0
    for number, line in numbered_lines(path):
        yield number, line
    if not number:
        raise DataError(f"{path}: the list is empty; write a line for each item")


def lines_within_limits(file: TextIO) -> Iterator[str]:
    """Yield the lines of a text file. Raises a `LimitError` before too large a file, or too long a line, fills the
    memory."""
    Limit.LIST_BYTES.check(os.fstat(file.fileno()).st_size, "the file")
    longest, most = Limit.LINE_CHARACTERS.most, Limit.LIST_LINES.most
    number = 0
    while line := file.readline(longest + 1):
        number += 1
        if number > most:
            raise Limit.LIST_LINES.problem(number, "the file", most)
        if len(line) > longest:
            raise Limit.LINE_CHARACTERS.problem(len(line), f"line {number}", longest)
        yield line


def read_bytes(path: str) -> bytes:
    """Return the bytes of an image file."""
    with file_errors(path):
        check_image_size(f"{path}: the file", regular_file(path).stat().st_size)
        return Path(path).read_bytes()


def check_image_size(what: str, size: int) -> None:
    """Raise a `DataError` about `what` if an image file has too many bytes to be read."""
    if size > _LARGEST_IMAGE:
        raise DataError(
            f"{what} has {size:,} bytes, more than the largest image, {_LARGEST_IMAGE:,}; store the image smaller, as "
            "JPEG"
        )


def read_text(path: Path, errors: str = "strict") -> str:
    """Return the whole text of a file, with Python's way of handling bytes that aren't UTF-8."""
    with file_errors(path), regular_file(path).open(encoding="utf-8", errors=errors, newline="") as file:
        try:
            text = file.read(Limit.TEXT_CHARACTERS.most + 1)
        except UnicodeDecodeError:
            raise DataError(f"{path}: not UTF-8 text; save it as UTF-8") from None
        Limit.TEXT_CHARACTERS.check(len(text), "the file")
    return text
