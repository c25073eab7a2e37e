"""Files that are written here first and then published under an address."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from secrets import token_hex
from typing import Any

from caffe_proto.addresses import address_in, shown_address
from caffe_proto.storage import PRIVATE, create_folder
from netdsl.errors import StorageError
from netdsl.storage.cache_folder import cache_folder
from netdsl.storage.local_copies import name_of, show_as
from netdsl.storage.schemes import WritableStorage, writable_storage_of
from netdsl.storage.transfers import AT_ONCE, INCOMPLETE, check_complete, objects_at

_NOTE = b"netdsl is still publishing this folder, or was interrupted. The folder is complete when this file is gone.\n"
_DATA = re.compile(r"((?:[a-z0-9]+:)?)([A-Za-z][A-Za-z0-9+.-]*://[^?]+)((?:\?.*)?)")  # a kind, an address, options


@contextmanager
def outgoing_path(address: str, *, is_new: bool = False) -> Iterator[Path]:
    """Provide the path of a file or folder on this machine, which is published under an address on success.

    Files that are written next to it, such as a net's weights, are published in the same folder, and before it. In a
    folder, files that refer to others are published after them. If files can't be published, they stay here, and the
    error names their folder. With `is_new`, the address must have no files. As long as a new folder isn't complete, it
    contains a file that says so.
    """
    storage, parent = writable_storage_of(address), address.rstrip("/").rpartition("/")[0]
    if is_new:
        _check_new(storage, address)
    path = outgoing_place(address)
    folder = path.parent
    try:
        yield path
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    files = {each.relative_to(folder).as_posix(): each for each in folder.rglob("*") if each.is_file()}

    def rank(name: str) -> tuple[bool, int]:
        return name.split("/")[0] == path.name, _rank(name)

    def put(name: str) -> None:
        storage.put(files[name], f"{parent}/{name}")

    try:
        if is_new:
            _put_new(storage, parent, files, rank, put, path)
        else:
            for names in in_ranks(files, rank):
                put_together(names, put)
    except StorageError as problem:
        show_as(folder, None)
        raise StorageError(f"{problem}; copy the result from {folder}") from None
    shutil.rmtree(folder, ignore_errors=True)


def outgoing_place(address: str) -> Path:
    """Return a path in a new folder on this machine, where files for an address are written first. Messages show the
    address in its place."""
    folder = cache_folder() / "outgoing" / token_hex(8)
    create_folder(folder, PRIVATE)
    show_as(folder, address)
    return folder / name_of(address)


@contextmanager
def published_path(path: str | Path) -> Iterator[Path]:
    """Provide the path of a file to write: the path itself or, for an address, one that is published on success."""
    address = address_in(path)
    if address is None:
        yield Path(path)
        return
    with outgoing_path(address) as outgoing:
        yield outgoing


@contextmanager
def outgoing_data(name: str) -> Iterator[str]:
    """Provide a name of new data, such as lmdb:s3://bucket/train, in which a path on this machine replaces the address.
    The data are published on success."""
    match = _DATA.fullmatch(name)
    if match is None:
        yield name
        return
    kind, address, options = match.groups()
    with outgoing_path(address, is_new=True) as path:
        yield f"{kind}{path}{options}"


def _check_new(storage: WritableStorage, address: str) -> None:
    """Raise a `StorageError` if an address has files."""
    objects = objects_at(storage, address)
    check_complete(objects, address)
    if objects:
        raise StorageError(
            f"{shown_address(address)}: the address has files already; remove them, or choose another name"
        )


def _put_new(
    storage: WritableStorage,
    parent: str,
    files: Mapping[str, Path],
    rank: Callable[[str], Any],
    put: Callable[[str], object],
    path: Path,
) -> None:
    """Publish files where there are none. If one can't be published, the others are removed."""
    for name in sorted({name.split("/")[0] for name in files}):
        _check_new(storage, f"{parent}/{name}")
    marker, published = f"{parent}/{path.name}/{INCOMPLETE}" if path.is_dir() else None, list[str]()
    if marker is not None and not storage.create(_NOTE, marker):
        _check_new(storage, f"{parent}/{path.name}")  # another command was faster

    def put_noted(name: str) -> None:
        put(name)
        published.append(name)

    try:
        for names in in_ranks(files, rank):
            put_together(names, put_noted)
        if marker is not None:
            storage.remove(marker)
    except BaseException:
        with suppress(StorageError):
            for address in (*(f"{parent}/{name}" for name in published), *([marker] if marker else [])):
                storage.remove(address)
        raise


def in_ranks(names: Iterable[str], rank: Callable[[str], Any]) -> list[list[str]]:
    """Return the names of files in groups, which are published one after the other. Files with a higher rank make
    others usable."""
    return [list(group) for _, group in groupby(sorted(names, key=rank), rank)]


def put_together(names: Iterable[str], put: Callable[[str], object]) -> None:
    """Publish files, several at the same time."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(put, names))


def _rank(name: str) -> int:
    """Return the place of a file in the order in which a folder's files are published."""
    _, _, inner = name.partition("/")
    if inner in ("data.mdb", "CURRENT"):
        return 3  # an LMDB or a LevelDB can be opened from then on
    if inner == "solver.prototxt":
        return 2  # refers to a net
    return 1 if name.endswith(".prototxt") else 0  # a net is used with its weights
