"""Maintaining the store: differences are found, and only broken or unwanted models are removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.zoo.store.conftest import NET, Told, card
from zoo.store.errors import StoreError
from zoo.store.local_store import Store
from zoo.store.pull import PullRequest, pull
from zoo.store.sources import open_model_source
from zoo.store.upkeep import added_files, check_model, list_models, prune


@pytest.fixture
def filled(store: Store, told: Told, tmp_path: Path) -> Store:
    """Return a store with the models a and b."""
    (tmp_path / "net").mkdir()
    (tmp_path / "net/deploy.prototxt").write_bytes(NET)
    (tmp_path / "net/README.md").write_bytes(card(task="detection"))
    for name in ("a", "b"):
        pull(store, PullRequest(open_model_source(str(tmp_path / "net")), name), told.settings())
    return store


def test_models_are_listed_with_problems_in_their_records(filled: Store, tmp_path: Path) -> None:
    (filled.folder("b") / ".source.json").write_text('{"name": 1}')
    whole, broken = list_models(filled)
    assert (whole.name, whole.task, whole.source) == ("a", "detection", str(tmp_path / "net"))
    assert whole.size == sum(path.stat().st_size for path in filled.folder("a").iterdir() if path.name[0] != ".")
    assert "b: there is no record of the model's source; remove it with `zoo store prune b`" in broken.problem
    assert list_models(Store(tmp_path / "empty")) == []


def test_a_changed_and_a_missing_file_are_found_and_pruned(filled: Store) -> None:
    (filled.folder("a") / "labels.txt").write_text("x")
    assert check_model(filled, "a").problems == ()
    assert added_files(filled, filled.record("a")) == ["labels.txt"]
    (filled.folder("b") / "deploy.prototxt").write_bytes(NET + b" ")
    (filled.folder("b") / "README.md").unlink()
    gone, changed = check_model(filled, "b").problems
    assert gone.endswith("README.md: the file is missing") and changed.endswith(
        "deploy.prototxt: the file has changed since it was stored"
    )
    assert [each.path for each in prune(filled)] == [filled.folder("b")]
    assert filled.names() == ["a"]


def test_pruning_removes_partial_files_and_keeps_complete_models(filled: Store) -> None:
    (filled.folder("a") / "w.caffemodel.part").write_bytes(b"x")
    (filled.folder("a") / "w.caffemodel.part.json").write_bytes(b"x")
    (filled.staging("c") / "w.caffemodel.part").write_bytes(b"x")
    before = {path.name for path in filled.folder("b").iterdir()}
    assert {each.path.name for each in prune(filled)} == {"w.caffemodel.part", ".c.pulling"}
    assert {path.name for path in filled.path.iterdir()} == {"a", "b", ".locks"}
    assert {path.name for path in filled.folder("a").iterdir()} == before
    assert prune(filled) == []


def test_pruning_removes_the_named_models_or_all_of_them(filled: Store) -> None:
    with pytest.raises(StoreError, match="c: not in the store; `zoo store list` shows the models"):
        prune(filled, ["a", "c"])
    assert filled.names() == ["a", "b"], "nothing goes for a list that has a wrong name"
    prune(filled, ["b"])
    assert filled.names() == ["a"]
    with filled.locked("a"), pytest.raises(StoreError, match="a: another process is pulling it"):
        prune(filled, everything=True)
    prune(filled, everything=True)
    assert filled.names() == []


@pytest.mark.parametrize("name", ["..", "../x", ".locks", ".", ""])
def test_a_name_cannot_escape_the_store(filled: Store, name: str) -> None:
    assert filled.model(name) is None
    with pytest.raises(StoreError, match="not in the store"):
        filled.record(name)
