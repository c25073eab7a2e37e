"""Results under addresses: written here, then published whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fsspec
import pytest

from netdsl.errors import StorageError
from netdsl.storage.cache_folder import cache_folder
from netdsl.storage.local_copies import with_addresses
from netdsl.storage.outgoing import outgoing_path
from tests.memory_storage import Put

ADDRESS = "memory://bucket/nets/net.onnx"


def stored() -> dict[str, bytes]:
    system: Any = fsspec.filesystem("memory")
    return {name: system.cat_file(name) for name in system.find("/bucket")}


def test_a_file_is_published_with_those_next_to_it(put: Put) -> None:
    put(ADDRESS, "old")
    with outgoing_path(ADDRESS) as path:
        path.write_bytes(b"net")
        path.with_name("net.data").write_bytes(b"values")
        assert with_addresses(f"wrote {path}") == f"wrote {ADDRESS}"
        assert stored() == {"/bucket/nets/net.onnx": b"old"}
    assert stored() == {"/bucket/nets/net.onnx": b"net", "/bucket/nets/net.data": b"values"}
    assert not list((cache_folder() / "outgoing").iterdir())


def test_nothing_is_published_after_an_error(put: Put) -> None:
    with pytest.raises(RuntimeError), outgoing_path(ADDRESS) as path:
        path.write_bytes(b"net")
        raise RuntimeError("the work failed")
    assert not stored() and not list((cache_folder() / "outgoing").iterdir())


def test_a_result_that_cannot_be_published_stays_here(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    put(ADDRESS, "old")
    put_file = fsspec.filesystem("memory").put_file

    def cut(source: str, target: str, **settings: Any) -> None:
        put_file(source, target, **settings)
        fsspec.filesystem("memory").pipe_file(target, b"ne")

    monkeypatch.setattr(type(fsspec.filesystem("memory")), "put_file", staticmethod(cut))
    lost = pytest.raises(StorageError, match=r"2 of 3 bytes arrived.*; copy the result from (/.*/outgoing/\w+)$")
    with lost as problem, outgoing_path(ADDRESS) as path:
        path.write_bytes(b"net")
    kept = Path(str(problem.value).rpartition(" ")[2])
    assert (kept / "net.onnx").read_bytes() == b"net" and stored() == {"/bucket/nets/net.onnx": b"old"}


def test_the_web_is_only_read(put: Put) -> None:
    with pytest.raises(StorageError, match="files can't be written there"):
        outgoing_path("https://example.org/net.onnx").__enter__()
