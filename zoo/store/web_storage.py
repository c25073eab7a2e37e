"""Files on the web as a storage, with the limits of `zoo pull`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from netdsl.storage.schemes import StoredObject
from zoo.store.public_addresses import AddressGuard
from zoo.store.transfers import TransferSettings
from zoo.store.web import WebFile, open_address


class WebStorage:
    """Files on web servers, which have no folders."""

    def objects(self, address: str) -> Mapping[str, StoredObject]:
        """Return the one file of an address, by an empty name."""
        with open_address(address, {}, _settings(address)) as response:
            return {"": _stored(address, response)}

    def pieces(self, stored: StoredObject) -> Iterator[bytes]:
        """Yield the bytes of a file as they arrive."""
        with open_address(stored.address, {}, _settings(stored.address)) as response:
            yield from response.pieces()


def _settings(address: str) -> TransferSettings:
    return TransferSettings(guard=AddressGuard([address]))


def _stored(address: str, response: WebFile) -> StoredObject:
    version = response.header("ETag") or response.header("Last-Modified")
    return StoredObject(address, response.length or 0, f"{version} size={response.length}" if version else "")
