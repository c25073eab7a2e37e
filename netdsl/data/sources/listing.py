"""Lists: text files that name images, windows or HDF5 files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from netdsl.data.sources.file_errors import file_errors


def numbered_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """The lines of a list that aren't blank, with their numbers. Names needn't be UTF-8."""
    with file_errors(path), Path(path).open(encoding="utf-8", errors="surrogateescape") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield number, line.rstrip("\r\n")


def read_bytes(path: str) -> bytes:
    """The bytes of a file that a list names."""
    with file_errors(path, ValueError):
        return Path(path).read_bytes()
