"""Files that are written here first and then published under an address."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

from caffe_proto.addresses import shown_address
from caffe_proto.storage import PRIVATE, create_folder
from netdsl.errors import StorageError
from netdsl.storage.cache_folder import cache_folder
from netdsl.storage.local_copies import name_of, show_as
from netdsl.storage.schemes import WritableStorage, storage_of


@contextmanager
def outgoing_path(address: str) -> Iterator[Path]:
    """Provide the path of a file on this machine, which is published under an address on success.

    Files that are written next to it, such as a net's weights, are published in the same folder, and before it. If they
    can't be published, they stay here, and the error names their folder.
    """
    storage = storage_of(address)
    if not isinstance(storage, WritableStorage):
        raise StorageError(f"{shown_address(address)}: files can't be written there; name a path on this machine")
    folder = cache_folder() / "outgoing" / token_hex(8)
    create_folder(folder, PRIVATE)
    path = folder / name_of(address)
    show_as(folder, address)
    try:
        yield path
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    others = sorted(other for other in folder.rglob("*") if other.is_file() and other != path)
    try:
        for each in (*others, *([path] if path.is_file() else [])):
            storage.put(each, f"{address.rstrip('/').rpartition('/')[0]}/{each.relative_to(folder).as_posix()}")
    except StorageError as problem:
        show_as(folder, None)
        raise StorageError(f"{problem}; copy the result from {folder}") from None
    shutil.rmtree(folder, ignore_errors=True)
