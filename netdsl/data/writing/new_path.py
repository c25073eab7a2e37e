"""New files and folders that are there whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from netdsl.errors import DataError


@contextmanager
def new_path(path: Path) -> Iterator[Path]:
    """A path beside `path` to make a file or a folder at, which gets its name when all went well."""
    if path.exists() or path.is_symlink():
        raise DataError(f"{path}: is already there; remove it, or choose another name")
    if not path.parent.is_dir():
        raise DataError(f"{path}: there is no folder {path.parent}; make it first")
    hidden = path.with_name(f".{path.name[:40]}.{token_hex(8)}")
    try:
        yield hidden
        hidden.rename(path)
    except OSError as problem:
        raise DataError(f"{path}: can't be written: {problem.strerror or problem}") from None
    finally:
        with suppress(FileNotFoundError, NotADirectoryError):
            shutil.rmtree(hidden) if hidden.is_dir() else hidden.unlink()
