"""The schemes of addresses that can be read, and the storage behind each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from caffe_proto.addresses import scheme_of, shown_address
from netdsl.errors import StorageError
from netdsl.registry import Registry


@dataclass(frozen=True)
class StoredObject:
    """A file in a storage: its address, its size, and a text that differs between its versions. The text is empty if
    the storage doesn't distinguish versions."""

    address: str
    size: int
    version: str


class Storage(Protocol):
    """A place with files that addresses name."""

    def objects(self, address: str) -> Mapping[str, StoredObject]:
        """Return the files below the folder of an address, by their relative names. A file has an empty name."""
        ...

    def pieces(self, stored: StoredObject) -> Iterator[bytes]:
        """Yield the bytes of a file as they arrive."""
        ...


@runtime_checkable
class WritableStorage(Storage, Protocol):
    """A place where files can also be written."""

    def put(self, path: Path, address: str) -> None:
        """Publish a file under an address: whole or not at all."""
        ...

    def create(self, data: bytes, address: str) -> bool:
        """Publish a few bytes unless the address has a file. Returns whether this call created it."""
        ...

    def remove(self, address: str) -> None:
        """Remove a file. It may be missing."""
        ...


def _driver(package: str, extra: str) -> Callable[[str], Storage]:
    return partial(_open_driver, package, extra)


def _open_driver(package: str, extra: str, address: str) -> Storage:
    storage: Storage = import_module("netdsl.storage.drivers").with_driver(address, package, extra)
    return storage


def _web(address: str) -> Storage:
    storage: Storage = import_module("zoo.store.web_storage").WebStorage()
    return storage


_BUILT_IN: Mapping[str, Callable[[str], Storage]] = {
    **dict.fromkeys(("s3", "s3a"), _driver("s3fs", "s3")),
    **dict.fromkeys(("gs", "gcs"), _driver("gcsfs", "gs")),
    **dict.fromkeys(("abfs", "abfss", "az"), _driver("adlfs", "abfs")),
    "hdfs": _driver("pyarrow", "data"),
    "hf": _driver("huggingface_hub", "hub"),
    **dict.fromkeys(("http", "https"), _web),
}

# A function gets an address and returns its storage. Those of plug-ins return one of fsspec's file systems.
SCHEMES: Registry[Callable[[str], Any]] = Registry("scheme of addresses")

for _name, _open in _BUILT_IN.items():
    SCHEMES.register(_name, _open, f"netdsl.storage.schemes.{_name}")


def storage_of(address: str) -> Storage:
    """Return the storage of an address. Raises a `StorageError` if its scheme can't be read."""
    scheme, shown = scheme_of(address), shown_address(address)
    if shown != address.partition("?")[0]:
        raise StorageError(f"{shown}: the address contains a password; keep it where the storage's own programs do")
    if "::" in address or ("?" in address and scheme not in ("http", "https")):
        raise StorageError(f"{shown}: an address names one file or folder; leave out '::' and '?'")
    open_storage = SCHEMES.own().get(scheme) or SCHEMES.get(scheme)
    if open_storage is None:
        raise StorageError(
            f"{shown}: addresses with {scheme}:// can't be read; copy the file here, or use one of "
            f"{', '.join(f'{name}://' for name in SCHEMES)}"
        )
    storage: Storage = open_storage(address)
    if scheme in _BUILT_IN:
        return storage
    wrapped: Storage = import_module("netdsl.storage.drivers").DriverStorage(storage)
    return wrapped


def writable_storage_of(address: str) -> WritableStorage:
    """Return the storage of an address to which files are written. Raises a `StorageError` if it can only be read."""
    storage = storage_of(address)
    if not isinstance(storage, WritableStorage):
        raise StorageError(f"{shown_address(address)}: files can't be written there; name a path on this machine")
    return storage
