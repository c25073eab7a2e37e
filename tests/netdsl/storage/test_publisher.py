"""Files that are published while other work continues."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from netdsl.errors import StorageError
from netdsl.storage import publisher
from netdsl.storage.drivers import DriverStorage
from netdsl.storage.publisher import Publisher, published_folder
from tests.memory_storage import Put, stored


def until(publishing: Publisher, is_so: Callable[[], object]) -> None:
    while not is_so():
        publishing.check(saved=True)


def test_changed_files_are_published_again_and_removed_ones_are_removed(put: Put) -> None:
    with published_folder(Publisher, "memory://bucket/files", pytest.fail) as publishing:
        (publishing.folder / "a").write_text("1")
        (publishing.folder / "b").write_text("1")
        until(publishing, lambda: len(stored()) == 2)
        (publishing.folder / "a").unlink()
        (publishing.folder / "b").write_text("22")
        until(publishing, lambda: [*stored().values()] == [b"22"])
        (publishing.folder / "c").write_text("last")
        kept = publishing.folder
    assert stored() == {"/bucket/files/b": b"22", "/bucket/files/c": b"last"} and not kept.parent.exists()


def test_problems_are_notes_until_the_end(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publisher, "PAUSES", (0.01,))
    put_file, is_down, notes = DriverStorage.put, [True], list[str]()

    def put_or_fail(storage: DriverStorage, path: Path, address: str) -> None:
        if is_down:
            raise StorageError(f"{address}: can't be reached")
        put_file(storage, path, address)

    monkeypatch.setattr(DriverStorage, "put", put_or_fail)
    with published_folder(Publisher, "memory://bucket/files", notes.append) as publishing:
        (publishing.folder / "a").write_text("1")
        until(publishing, lambda: notes)
        assert notes == ["memory://bucket/files/a: can't be reached; training continues, and publishes its files later"]
        is_down.clear()
        until(publishing, lambda: len(notes) == 2)
        assert notes[1] == "memory://bucket/files: the storage can be reached again" and len(stored()) == 1
    with (
        pytest.raises(RuntimeError, match="the work failed"),
        published_folder(Publisher, "memory://bucket/files", notes.append) as publishing,
    ):
        (publishing.folder / "a").write_text("2")
        is_down.append(True)
        raise RuntimeError("the work failed")
    assert notes[-1].endswith(f"can't be reached; copy the files from {publishing.folder}")


def test_a_folder_may_vanish_while_files_are_listed(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    look = os.scandir

    def vanish(folder: object) -> object:
        if str(folder) == str(publishing.folder / "round"):
            Path(str(folder)).rmdir()
        return look(folder)

    with published_folder(Publisher, "memory://bucket/files", pytest.fail) as publishing:
        (publishing.folder / "round").mkdir()
        (publishing.folder / "a").write_text("1")
        with monkeypatch.context() as patched:
            patched.setattr(os, "scandir", vanish)
            assert [*publishing.files()] == ["a"]
