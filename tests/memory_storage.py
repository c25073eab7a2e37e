"""A storage in memory, registered as a plug-in registers one, and a cache folder of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import fsspec
import pytest

from netdsl.registry import register_storage
from netdsl.storage import local_copies
from netdsl.storage.drivers import DriverStorage
from netdsl.storage.schemes import SCHEMES

Put = Callable[[str, str | bytes], None]


def stored(folder: str = "/bucket") -> dict[str, bytes]:
    """Return the contents of all files below a folder of memory://, by their paths. Others may change them."""
    system, contents = fsspec.filesystem("memory"), dict[str, bytes]()
    for name in system.find(folder):
        with suppress(FileNotFoundError):
            contents[name] = system.cat_file(name)
    return contents


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which the addresses of published files are added, in their order."""
    put_file, addresses = DriverStorage.put, list[str]()

    def recorded(storage: DriverStorage, path: Path, address: str) -> None:
        put_file(storage, path, address)
        addresses.append(address)

    monkeypatch.setattr(DriverStorage, "put", recorded)
    return addresses


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Put]:
    """Return a function that stores a file below memory://."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(local_copies, "_opened", {})
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    @register_storage("memory")
    def open_memory(address: str) -> Any:
        return fsspec.filesystem("memory")

    def store(address: str, content: str | bytes) -> None:
        data = content.encode() if isinstance(content, str) else content
        fsspec.filesystem("memory").pipe_file(address.removeprefix("memory:/"), data)

    yield store
    SCHEMES.unregister("memory")
    fsspec.filesystem("memory").store.clear()
