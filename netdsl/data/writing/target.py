"""Targets: names that state the form of written data, and new files and folders that only appear when they are
complete."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl

from caffe_proto.addresses import local_path
from caffe_proto.storage import temporary_folder
from netdsl.errors import DataError

_ENDINGS = ("lmdb", "leveldb", "parquet", "folder")  # in paths that state the kind, such as train_lmdb


class TargetName(NamedTuple):
    """The name of a target: its kind, its path and its options."""

    kind: str
    path: Path
    options: dict[str, str]


def parse_target(text: str, forms: Mapping[str, str]) -> TargetName:
    """Parse a name whose prefix or suffix states its kind. `forms` are the forms of names by kind."""
    kind, colon, rest = text.partition(":")
    if not (colon and rest and kind in forms):
        rest, kind = text, next((end for end in _ENDINGS if end in forms and text.endswith((f".{end}", f"_{end}"))), "")
    if not kind:
        raise DataError(
            f"{text}: the name doesn't state a format; use {', '.join(forms.values())}, or a name such as train_lmdb"
        )
    path, _, query = rest.partition("?")
    return TargetName(kind, local_path(path), dict(parse_qsl(query, keep_blank_values=True)))


@contextmanager
def new_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path for a file or a folder, in a hidden folder next to `path`. Without an error, it is renamed
    to `path`."""
    if path.exists() or path.is_symlink():
        raise DataError(f"{path}: the path exists already; remove it, or choose another name")
    if not path.parent.is_dir():
        raise DataError(f"{path}: there is no folder {path.parent}; create it with `mkdir -p {path.parent}`")
    try:
        with temporary_folder(path.parent, path.name) as folder:
            yield folder / path.name
            (folder / path.name).rename(path)
    except OSError as problem:
        raise DataError(
            f"{path}: can't be written: {problem.strerror or problem}; choose a folder that you can write to, "
            "or free space there"
        ) from None
