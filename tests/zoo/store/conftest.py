"""A file server, an empty store, and the files of a small model."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from netdsl.solver.events import Notice
from tests.zoo.store.file_server import FileServer, serving
from zoo.store.local_store import Store
from zoo.store.public_addresses import AddressGuard
from zoo.store.transfers import TransferProgress, TransferSettings

NET = b'name: "n" layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 1 dim: 3 } } }'
WEIGHTS = b"\n\x07weights" * 777 + b"\n\x03\x07ab\x07\n"  # begins like a caffemodel, from both ends
SHA1 = hashlib.sha1(WEIGHTS).hexdigest()
SHA256 = hashlib.sha256(WEIGHTS).hexdigest()


def card(**fields: str) -> bytes:
    """Return a card with these fields."""
    lines = "".join(f"{name}: {value}\n" for name, value in {"name": "Some Net", **fields}.items())
    return f"---\n{lines}---\n\nWhat there is to say.\n".encode()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with serving() as files:
        yield files


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@dataclass
class Told:
    """Settings without delays, and the messages that they report."""

    notices: list[str] = field(default_factory=list)
    progress: list[TransferProgress] = field(default_factory=list)

    def __call__(self, event: object) -> None:
        if isinstance(event, Notice):
            self.notices.append(event.text)
        else:
            self.progress.append(event)

    def settings(self, **changes: object) -> TransferSettings:
        guard = AddressGuard(any_address=True)  # the file server is on this machine
        return replace(TransferSettings(silence=30, pause=0, listen=self, guard=guard), **changes)  # type: ignore[arg-type]


@pytest.fixture
def told() -> Told:
    return Told()
