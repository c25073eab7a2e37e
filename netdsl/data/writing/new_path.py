"""New files and folders that exist only when they are complete."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from netdsl.errors import DataError


@contextmanager
def new_path(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` for a file or a folder, which is renamed to `path` if no error is raised."""
    if path.exists() or path.is_symlink():
        raise DataError(f"{path}: exists already; remove it, or choose another name")
    if not path.parent.is_dir():
        raise DataError(f"{path}: there is no folder {path.parent}; create it first")
    temporary = path.with_name(f".{path.name[:40]}.{token_hex(8)}")
    try:
        yield temporary
        temporary.rename(path)
    except OSError as problem:
        raise DataError(f"{path}: can't be written: {problem.strerror or problem}") from None
    finally:
        with suppress(FileNotFoundError, NotADirectoryError):
            shutil.rmtree(temporary) if temporary.is_dir() else temporary.unlink()
