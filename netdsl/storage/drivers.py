"""Storage by the file systems of fsspec, whose drivers are packages of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from typing import Any

from fsspec.core import url_to_fs

from caffe_proto.addresses import scheme_of, shown_address
from caffe_proto.errors import CaffeError, MissingExtraError
from caffe_proto.shown_text import LONGEST_NAME, shown
from netdsl.errors import NotStoredError, StorageError, first_line
from netdsl.storage.schemes import StoredObject

_PIECE = 1 << 20
# Drivers' names for the version of a file. A time alone would miss a change within its resolution, so the size counts.
_VERSIONS = (
    *("ETag", "etag", "VersionId", "version_id", "generation", "md5Hash", "checksum", "content_md5", "blob_id"),
    *("LastModified", "last_modified", "mtime", "updated", "created", "modificationTime"),
)
_PUBLISHED_WHOLE = ("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "hf")
_CREDENTIALS = ("credential", "forbidden", "access denied", "unauthorized", "signature", "invalidaccesskey", "token")


def with_driver(address: str, package: str, extra: str) -> DriverStorage:
    """Return the storage of an address, by the driver in a package. Credentials are found in the driver's own ways."""
    if find_spec(package) is None:
        raise MissingExtraError(
            f"{shown_address(address)}: reading this address needs {package}: pip install 'netdsl[{extra}]'"
        )
    with _driver_errors(address):
        # Another command may have changed what a cached file system remembers.
        system, _ = url_to_fs(address, skip_instance_cache=True, use_listings_cache=False)
    return DriverStorage(system)


class DriverStorage:
    """The files of one of fsspec's file systems."""

    def __init__(self, system: Any) -> None:
        self._system = system

    def objects(self, address: str) -> Mapping[str, StoredObject]:
        """Return the files below the folder of an address, by their relative names. A file has an empty name."""
        with _driver_errors(address):
            path = self._system._strip_protocol(address).rstrip("/")
            info = self._system.info(path)
            if info["type"] != "directory":
                return {"": _stored(address, info)}
            found: Mapping[str, Any] = self._system.find(path, detail=True)
            names = {name: name.removeprefix(path).strip("/") for name in found}
            return {
                relative: _stored(f"{address.rstrip('/')}/{relative}", found[name])
                for name, relative in sorted(names.items())
                if relative
            }

    def pieces(self, stored: StoredObject) -> Iterator[bytes]:
        """Yield the bytes of a file as they arrive."""
        with _driver_errors(stored.address):
            path = self._system._strip_protocol(stored.address)
            with self._system.open(path, "rb", block_size=4 * _PIECE, cache_type="readahead") as file:
                while piece := file.read(_PIECE):
                    yield piece

    def put(self, path: Path, address: str) -> None:
        """Publish a file under an address: whole or not at all.

        Stores of objects publish an upload when it is complete. Elsewhere, the file is uploaded under a hidden name and
        then renamed.
        """
        with _driver_errors(address):
            target = self._system._strip_protocol(address)
            folder, _, name = target.rpartition("/")
            hidden = target if scheme_of(address) in _PUBLISHED_WHOLE else f"{folder}/.{name}.{token_hex(8)}"
            if hidden != target and folder:
                self._system.makedirs(folder, exist_ok=True)
            try:
                self._system.put_file(str(path), hidden)
                size, whole = int(self._system.info(hidden)["size"]), path.stat().st_size
                if size != whole:
                    raise StorageError(
                        f"{shown_address(address)}: {size:,} of {whole:,} bytes arrived; run the same command again"
                    )
                if hidden != target:
                    self._system.mv(hidden, target)
            except BaseException:
                if hidden != target:
                    with suppress(Exception):
                        self._system.rm_file(hidden)
                raise

    def create(self, data: bytes, address: str) -> bool:
        """Publish a few bytes unless the address has a file. Returns whether this call created it.

        S3, Google Cloud Storage and Azure decide that themselves, so only one of several calls creates the file.
        Elsewhere, the driver looks first.
        """
        with _driver_errors(address):
            path = self._system._strip_protocol(address)
            if scheme_of(address) not in _PUBLISHED_WHOLE:
                self._system.makedirs(path.rpartition("/")[0], exist_ok=True)
            try:
                self._system.pipe_file(path, data, mode="create")
            except FileExistsError:
                return False
            except Exception:
                with suppress(FileNotFoundError):  # not every driver has this error
                    self._system.info(path)
                    return False
                raise
            return True

    def remove(self, address: str) -> None:
        """Remove a file. It may be missing."""
        with _driver_errors(address), suppress(FileNotFoundError):
            self._system.rm_file(self._system._strip_protocol(address))


def _stored(address: str, info: Mapping[str, Any]) -> StoredObject:
    versions = [f"{name}={info[name]}" for name in _VERSIONS if info.get(name) is not None]
    size = int(info.get("size") or 0)
    return StoredObject(address, size, " ".join([*versions, f"size={size}"]) if versions else "")


@contextmanager
def _driver_errors(address: str) -> Iterator[None]:
    """Raise a `StorageError` in place of a driver's own exceptions, which can be any."""
    place = shown_address(address)
    try:
        yield
    except (CaffeError, MemoryError):
        raise
    except FileNotFoundError:
        raise NotStoredError(
            f"{place}: there is no such file or folder that you may see; check the address and your permissions"
        ) from None
    except Exception as problem:
        reason = shown(first_line(problem) or type(problem).__name__, LONGEST_NAME)
        words = f"{type(problem).__name__} {reason}".lower()
        if isinstance(problem, PermissionError) or any(word in words for word in _CREDENTIALS):
            raise StorageError(
                f"{place}: the storage refuses access: {reason}; check the credentials for {scheme_of(address)}:// "
                "with the storage's own programs"
            ) from None
        raise StorageError(f"{place}: can't be reached: {reason}; check the address and the connection") from None
