"""Lists: text files that name images, windows or HDF5 files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from netdsl.data.sources.file_errors import file_errors, regular_file
from netdsl.errors import DataError

_LONGEST_LINE = 1 << 16  # characters of a line in a list
_LARGEST_IMAGE = 1 << 30  # bytes of an image file


def numbered_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """The lines of a list that aren't blank, with their numbers. Names needn't be UTF-8."""
    with file_errors(path), regular_file(path).open(encoding="utf-8", errors="surrogateescape") as file:
        for number, line in enumerate(short_lines(file, path, _LONGEST_LINE), 1):
            if line.strip():
                yield number, line.rstrip("\r\n")


def listed_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """The same of a list that must name something."""
    number = 0
    for number, line in numbered_lines(path):
        yield number, line
    if not number:
        raise DataError(f"{path}: the list is empty")


def short_lines(file: TextIO, path: str | Path, longest: int) -> Iterator[str]:
    """The lines of a text file, of which one that is too long is an error before it fills the memory."""
    number = 0
    while line := file.readline(longest + 1):
        number += 1
        if len(line) > longest:
            raise DataError(f"{path}:{number}: is a line of more than {longest:,} characters; the file is damaged")
        yield line


def read_bytes(path: str) -> bytes:
    """The bytes of an image that a list names."""
    with file_errors(path):
        size = regular_file(path).stat().st_size
        if size > _LARGEST_IMAGE:
            raise DataError(
                f"{path}: has {size:,} bytes, more than an image can have; the largest has {_LARGEST_IMAGE:,}"
            )
        return Path(path).read_bytes()


def read_text(path: Path, longest: int) -> str:
    """A whole text of so many characters at most."""
    with file_errors(path), regular_file(path).open(encoding="utf-8", newline="") as file:
        try:
            text = file.read(longest + 1)
        except UnicodeDecodeError:
            raise DataError(f"{path}: isn't text in UTF-8") from None
    if len(text) > longest:
        raise DataError(f"{path}: has more than {longest:,} characters; divide it into several files")
    return text
