"""JSON of annotations, whose fields are checked while they are read."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from netdsl.data.sources.file_errors import file_errors, regular_file
from netdsl.errors import DataError

T = TypeVar("T")


def read_json(path: Path, kind: type[T], largest: int) -> T:
    """The contents of a file that has at most so many bytes, as a msgspec struct."""
    with file_errors(path):
        if regular_file(path).stat().st_size > largest:
            raise DataError(f"{path}: has more than {largest:,} bytes; split it into several files")
        data = path.read_bytes()
    with file_errors(path):
        try:
            return msgspec.json.decode(data, type=kind)
        except (ValueError, RecursionError) as problem:  # msgspec's own errors are ValueErrors
            raise DataError(f"{path}: isn't what it should be: {problem}") from None
