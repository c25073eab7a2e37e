"""Copies of files and folders that addresses name, in the user's cache folder.

A copy has its own folder, whose name is the hash of the address and of the versions of its files. A file that changes
in the storage therefore gets another copy.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from secrets import token_hex
from threading import Event
from typing import Any

from caffe_proto.addresses import address_in, shown_address
from caffe_proto.errors import FileError
from caffe_proto.limits import Limit
from caffe_proto.storage import PRIVATE, create_folder, file_hash, remove_leftovers, temporary_folder
from netdsl.errors import StorageError
from netdsl.storage.cache_folder import cache_folder
from netdsl.storage.schemes import Storage, StoredObject, storage_of
from netdsl.storage.transfers import AT_ONCE, check_complete, check_names, fetch_file, within_silence

_log = logging.getLogger(__name__)

ALLOWED = "NETDSL_ALLOW_ADDRESSES"  # the beginnings of addresses that files may name, with commas between them
_RECORD = ".copy.json"  # in a copy's folder: the address, and the size and SHA-256 of each file
_DIGITS = 32  # of a hash in a folder's name
_DAY = 86_400  # seconds

# In names of data, options and a part may follow an address: lmdb:s3://bucket/set:train?items=FILE.
_IN_TEXT = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s,?]*?(?=(?::(?:train|test))?(?:[\s,?]|$))")
_WEB = re.compile(r"https?://[^\s,]+")  # its query is a part of the address

_opened = dict[Path, str]()  # the copies that this process has checked, and the folders of their addresses
_allowed = list[str]()  # besides the variable's
_outgoing = dict[Path, str]()  # folders of files that will be published, and the folders of their addresses


def opened_path(path: str | Path) -> Path:
    """Return a path that a user named. An address is copied first, and the path of its copy is returned."""
    return Path(with_local_paths(path)) if isinstance(path, str) else path


def with_local_paths(text: str) -> str:
    """Return a text in which the paths of copies replace the addresses. A user must have written the text."""
    if address_in(text) is None:
        return text
    if _WEB.fullmatch(text):
        return str(local_copy(text))
    return _IN_TEXT.sub(lambda match: str(local_copy(match[0])), text)


def path_in_file(name: str, folder: Path | None) -> Path | None:
    """Return the path of a file that another file names, if it is in a storage.

    A stranger may have written that name. A relative one is looked up below the address from which the other
    file, which is in `folder`, was copied. An address is only read if the user allows its beginning. Returns `None` for
    a name on this machine.
    """
    address = address_in(name)
    if address is not None:
        check_allowed(address)
        return local_copy(address)
    origin = _origin_of(folder) if folder is not None else None
    parts = PurePosixPath(name).parts
    if origin is None or not parts or name.startswith("/") or ".." in parts or "\\" in name:
        return None
    return local_copy(f"{origin.rpartition('/')[0]}/{'/'.join(parts)}")


def check_allowed(address: str) -> None:
    """Raise a `StorageError` if files may not name an address."""
    if not any(address.startswith(allowed) for allowed in allowed_addresses()):
        raise StorageError(
            f"{shown_address(address)}: a file names this address, and files may not make netdsl connect to a "
            f"storage; if you trust it, set {ALLOWED}={shown_address(address).rpartition('/')[0]}/"
        )


def allowed_addresses() -> tuple[str, ...]:
    """Return the beginnings of addresses that the user lets files name, in this process or in the supervisor's."""
    named = (part.strip() for part in os.environ.get(ALLOWED, "").split(","))
    return (*(part for part in named if "://" in part), *_allowed)


@contextmanager
def allowing_addresses(addresses: Iterable[str]) -> Iterator[None]:
    """Let files name more addresses until the context ends."""
    earlier = list(_allowed)
    _allowed.extend(addresses)
    try:
        yield
    finally:
        _allowed[:] = earlier


def addresses_of_copies(text: str) -> dict[str, str]:
    """Return the folders of copies whose paths a text contains, with the addresses from which they were copied."""
    folders = re.findall(rf"{re.escape(str(_copies_folder()))}/[0-9a-f]{{{_DIGITS}}}(?=/)", text)
    origins = {folder: _origin_of(Path(folder)) for folder in folders}
    return {folder: origin for folder, origin in origins.items() if origin is not None}


def copy_again(folder: str, address: str) -> str:
    """Return the folder of a copy that another machine made and a file names. If it isn't on this machine, the address
    is copied again, if the user allows that. It must still have the same version."""
    if _read_record(Path(folder)) is not None:
        return folder
    allowed_path = path_in_file(address, None)
    assert allowed_path is not None
    if allowed_path.parent.name != Path(folder).name:
        raise StorageError(
            f"{shown_address(address)}: it has changed since the run began with it; put the version of that time there "
            "again, or start a new run"
        )
    return str(allowed_path.parent)


def is_copy(path: Path) -> bool:
    """Return whether a path is that of a copy."""
    return _origin_of(path.parent) is not None


def with_addresses(text: str) -> str:
    """Return a text for messages in which addresses replace the paths of their copies, and of files that will be
    published."""
    for folder, origin in (*_opened.items(), *_outgoing.items()):
        text = text.replace(str(folder), origin)
    return text


def _copies_folder() -> Path:
    return cache_folder() / "addresses"


def _origin_of(folder: Path) -> str | None:
    """Return the address from which the file or folder in a copy's folder was copied, or `None` for another folder."""
    if folder.parent.resolve() != _copies_folder().resolve():
        return None
    record = _read_record(folder)
    return None if record is None else str(record["address"])


def local_copy(address: str) -> Path:
    """Return the path of a copy of the file or folder of an address. It is fetched unless there is a copy of this
    version."""
    address = address.rstrip("/") if address.partition("://")[2].strip("/") else address
    storage, name = storage_of(address), name_of(address)
    objects = within_silence(lambda: storage.objects(address), address)
    check_names(objects, address)
    check_complete(objects, address)
    known = all(stored.version for stored in objects.values())
    version = json.dumps(_versions(objects))
    key = hashlib.sha256(f"{address}\0{version if known else token_hex(16)}".encode()).hexdigest()[:_DIGITS]
    folder = _copies_folder() / key
    if not _is_whole(folder):
        _fetch_folder(storage, address, objects, folder, name)
        again = within_silence(lambda: storage.objects(address), address)
        if _versions(again) != _versions(objects):
            shutil.rmtree(folder, ignore_errors=True)
            raise StorageError(f"{shown_address(address)}: it changed while it was fetched; run the same command again")
    with suppress(OSError):  # a cache that another user shares for reading only
        os.utime(folder)  # notes the use, for `remove_unused_copies`
    _opened[folder] = _shown_folder(address)
    return folder / name


def remove_unused_copies(days: int) -> list[tuple[Path, str]]:
    """Remove the copies that no process has opened for this many days. Returns their folders, with their addresses."""
    folder, latest = _copies_folder(), time.time() - days * _DAY
    removed = list[tuple[Path, str]]()
    if not folder.is_dir():
        return removed
    remove_leftovers(folder)
    for copy in sorted(folder.iterdir()):
        record = _read_record(copy)
        if copy.stat().st_mtime <= latest and record is not None:
            _discard(copy)
            _opened.pop(copy, None)
            removed.append((copy, shown_address(str(record["address"]))))
    return removed


def _versions(objects: Mapping[str, StoredObject]) -> list[tuple[str, str]]:
    return [(name, stored.version) for name, stored in sorted(objects.items())]


def show_as(folder: Path, address: str | None) -> None:
    """Show a folder in messages as the folder of an address, or as itself again."""
    if address is None:
        _outgoing.pop(folder, None)
    else:
        _outgoing[folder] = _shown_folder(address)


def _shown_folder(address: str) -> str:
    return shown_address(address).rstrip("/").rpartition("/")[0]


def name_of(address: str) -> str:
    """Return the name of the file or folder of an address."""
    name = PurePosixPath(shown_address(address).partition("://")[2].rstrip("/")).name
    if name in ("", ".", "..", _RECORD) or "\0" in name:
        raise StorageError(f"{shown_address(address)}: the address names no file or folder; add its name")
    return name


def _fetch_folder(storage: Storage, address: str, objects: Mapping[str, StoredObject], folder: Path, name: str) -> None:
    """Fetch all files into a hidden folder, which gets its name when it is complete."""
    _log.info("fetching %d files of %s", len(objects), shown_address(address))
    create_folder(folder.parent, PRIVATE)
    remove_leftovers(folder.parent)
    _check_size(objects, address, folder.parent)
    with temporary_folder(folder.parent, folder.name) as hidden:
        target, ended = hidden / name, Event()

        def fetched(relative: str) -> tuple[str, list[object]]:
            path = target / relative if relative else target
            path.parent.mkdir(parents=True, exist_ok=True)
            return relative, fetch_file(storage, objects[relative], path, ended)

        try:
            with ThreadPoolExecutor(AT_ONCE) as pool:
                try:
                    files = dict(pool.map(fetched, objects))
                except BaseException:
                    ended.set()  # so that the others don't fetch the rest of their files
                    raise
        except OSError as problem:
            raise FileError(
                f"{folder.parent}: the copy of {shown_address(address)} can't be written: {problem.strerror}; free "
                "some space, or set XDG_CACHE_HOME to another folder"
            ) from None
        record = {"address": address.partition("?")[0], "files": files}
        (hidden / _RECORD).write_text(json.dumps(record), encoding="utf-8")
        try:
            hidden.rename(folder)
        except OSError:  # there is a copy without a record, or another process was faster
            if not _is_whole(folder):
                _discard(folder)
                hidden.rename(folder)


def _check_size(objects: Mapping[str, StoredObject], address: str, folder: Path) -> None:
    size = sum(stored.size for stored in objects.values())
    Limit.ADDRESS_BYTES.check(size, shown_address(address))
    missing = size - shutil.disk_usage(folder).free
    if missing > 0:
        raise FileError(
            f"{folder}: the disk needs {missing:,} more free bytes for {shown_address(address)}; free some space, or "
            "set XDG_CACHE_HOME to another folder"
        )


def _is_whole(folder: Path) -> bool:
    """Return whether a copy exists and has the sizes and hashes of its record. A damaged one is removed."""
    record = _read_record(folder)
    if record is None or folder in _opened:
        return record is not None
    target = folder / name_of(str(record["address"]))
    for relative, (size, digest) in record["files"].items():
        path = target / relative if relative else target
        if not path.is_file() or path.stat().st_size != size or (size and file_hash(path) != digest):
            _log.warning("%s differs from its record, and is fetched again", path)
            _discard(folder)
            return False
    return True


def _read_record(folder: Path) -> dict[str, Any] | None:
    try:
        record: dict[str, Any] = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record


def _discard(folder: Path) -> None:
    """Remove a copy. Other processes never see it half removed."""
    hidden = folder.with_name(f".{folder.name}.{token_hex(8)}")
    folder.rename(hidden)
    shutil.rmtree(hidden, ignore_errors=True)
