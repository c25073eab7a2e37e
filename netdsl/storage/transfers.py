"""Transfers from a storage, which end if it sends nothing for some time."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import TypeVar

from caffe_proto.addresses import shown_address
from caffe_proto.limits import Limit
from netdsl.errors import NotStoredError, StorageError
from netdsl.storage.schemes import Storage, StoredObject

T = TypeVar("T")

INCOMPLETE = "netdsl-incomplete.txt"  # in a folder of which not all files are published
AT_ONCE = 8  # files that are transferred at the same time
_SILENCE = 60.0  # seconds without a byte, or without an answer, after which a transfer ends


def check_names(objects: Mapping[str, StoredObject], address: str) -> None:
    """Raise a `StorageError` if a folder is empty, or a name in it would lead out of a folder on this machine."""
    if not objects:
        raise StorageError(f"{shown_address(address)}: the folder is empty; check the address")
    for name in filter(None, objects):
        parts = name.split("/")
        if any(part in ("", ".", "..") or "\0" in part for part in parts):
            raise StorageError(
                f"{shown_address(address)}: '{name[:100]}' isn't the name of a file below the folder; "
                "rename it in the storage"
            )


def objects_at(storage: Storage, address: str) -> dict[str, StoredObject]:
    """Return the files at an address or below it, by their names there. There are none if it doesn't exist."""
    try:
        return dict(within_silence(lambda: storage.objects(address), address))
    except NotStoredError:
        return {}


def check_complete(objects: Mapping[str, StoredObject], address: str) -> None:
    """Raise a `StorageError` if not all files of a folder are published."""
    if INCOMPLETE in objects:
        raise StorageError(
            f"{shown_address(address)}: the folder isn't complete, because a command is still publishing it, or was "
            f"interrupted; wait until {INCOMPLETE} is gone, or remove the folder and write it again"
        )


def fetch_file(storage: Storage, stored: StoredObject, path: Path, ended: Event) -> list[object]:
    """Fetch one file, unless `ended` is set. Returns its size and SHA-256."""
    digest, size = hashlib.sha256(), 0
    with path.open("xb") as file:
        for piece in _pieces_within_silence(storage.pieces(stored), stored.address, ended):
            size += len(piece)
            if size > Limit.ADDRESS_BYTES.most:
                raise Limit.ADDRESS_BYTES.problem(size, shown_address(stored.address), Limit.ADDRESS_BYTES.most)
            digest.update(piece)
            file.write(piece)
    if stored.size and size != stored.size:
        raise StorageError(
            f"{shown_address(stored.address)}: {size:,} of {stored.size:,} bytes arrived; run the same command again"
        )
    return [size, digest.hexdigest()]


def within_silence(function: Callable[[], T], address: str) -> T:
    """Return a function's result. Raises an error if the storage doesn't answer in time."""

    def once() -> Iterator[T]:
        yield function()

    return next(_pieces_within_silence(once(), address, Event()))


def _pieces_within_silence(pieces: Iterator[T], address: str, ended: Event) -> Iterator[T]:
    """Yield pieces that another thread reads, so that no driver can make this one wait forever."""
    arrived: Queue[tuple[T | None, BaseException | None]] = Queue(2)
    left = Event()

    def put(piece: T | None, problem: BaseException | None) -> None:
        while not (left.is_set() or ended.is_set()):
            with suppress(Full):
                arrived.put((piece, problem), timeout=0.5)
                return

    def read() -> None:
        try:
            for piece in pieces:
                put(piece, None)
                if left.is_set() or ended.is_set():
                    return
            put(None, None)
        except BaseException as problem:
            put(None, problem)

    Thread(target=read, daemon=True).start()
    try:
        while True:
            piece, problem = _next_piece(arrived, address, ended)
            if problem is not None:
                raise problem
            if piece is None:
                return
            yield piece
    finally:
        left.set()


def _next_piece(
    arrived: Queue[tuple[T | None, BaseException | None]], address: str, ended: Event
) -> tuple[T | None, BaseException | None]:
    silent_until = time.monotonic() + _SILENCE
    while time.monotonic() < silent_until and not ended.is_set():
        with suppress(Empty):
            return arrived.get(timeout=0.5)
    raise StorageError(
        f"{shown_address(address)}: the storage has sent nothing for {_SILENCE:g} seconds; check the address and the "
        "connection, and run the same command again"
    )
