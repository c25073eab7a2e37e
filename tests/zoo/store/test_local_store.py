"""The folder of the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from netdsl.storage.cache_folder import cache_folder
from zoo.names import store
from zoo.store.local_store import Store


def test_the_store_is_in_the_users_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("NETDSL_HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert store().path == tmp_path / ".cache/netdsl/store"
    for relative in ("", "cache", "./cache"):
        monkeypatch.setenv("XDG_CACHE_HOME", relative)
        assert cache_folder() == tmp_path / ".cache/netdsl"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert store().path == tmp_path / "cache/netdsl/store"
    monkeypatch.setenv("NETDSL_HOME", str(tmp_path / "own"))
    assert store().path == tmp_path / "own/store"


def test_a_user_without_a_home_has_no_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "relative")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == Path("/nonexistent/.cache/netdsl")
    assert Store(cache_folder() / "store").names() == []
