"""Files that are written here first and then published under an address."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path, PurePosixPath
from secrets import token_hex

from caffe_proto.addresses import address_in
from caffe_proto.storage import PRIVATE, create_folder
from netdsl.errors import StorageError
from netdsl.storage.cache_folder import cache_folder
from netdsl.storage.local_copies import name_of, show_as
from netdsl.storage.schemes import writable_storage_of
from netdsl.storage.transfers import AT_ONCE


@contextmanager
def outgoing_path(address: str) -> Iterator[Path]:
    """Provide the path of a file or folder on this machine, which is published under an address on success.

    Files that are written next to it, such as a net's weights, are published in the same folder, and before it. In a
    folder, files that refer to others are published after them. If files can't be published, they stay here, and the
    error names their folder.
    """
    storage, parent = writable_storage_of(address), address.rstrip("/").rpartition("/")[0]
    folder = cache_folder() / "outgoing" / token_hex(8)
    create_folder(folder, PRIVATE)
    path = folder / name_of(address)
    show_as(folder, address)
    try:
        yield path
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    files = {each.relative_to(folder).as_posix(): each for each in folder.rglob("*") if each.is_file()}

    def rank(name: str) -> tuple[bool, int]:
        return name.split("/")[0] == path.name, _rank(name)

    try:
        put_in_order(files, rank, lambda name: storage.put(files[name], f"{parent}/{name}"))
    except StorageError as problem:
        show_as(folder, None)
        raise StorageError(f"{problem}; copy the result from {folder}") from None
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def published_path(path: str | Path) -> Iterator[Path]:
    """Provide the path of a file to write: the path itself or, for an address, one that is published on success."""
    address = address_in(path)
    if address is None:
        yield Path(path)
        return
    with outgoing_path(address) as outgoing:
        yield outgoing


def put_in_order(names: Iterable[str], rank: Callable[[str], object], put: Callable[[str], object]) -> None:
    """Publish files, several at the same time. Files with a higher rank make others usable, and follow them."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for _, group in groupby(sorted(names, key=rank), rank):  # type: ignore[arg-type]
            list(pool.map(put, group))


def _rank(name: str) -> int:
    """Return the place of a file in the order in which a folder's files are published."""
    path = PurePosixPath(name)
    if path.name == "solver.prototxt":
        return 2  # refers to a net
    return 1 if path.suffix == ".prototxt" else 0  # a net is used with its weights
