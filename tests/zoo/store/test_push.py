"""Pushing model folders: they are published completely, with a card that proves the files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.zoo.store.conftest import NET, SHA1, SHA256, WEIGHTS, Told, card
from zoo.cards import read_card
from zoo.model_folder import open_folder
from zoo.store.errors import StoreError
from zoo.store.local_store import Store
from zoo.store.pull import PullRequest, pull, with_fields
from zoo.store.push import push
from zoo.store.sources import open_model_source

FIELDS = {"summary": "A net.", "license": "mit"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    for name, data in {"deploy.prototxt": NET, "w.caffemodel": WEIGHTS, "readme.txt": b"x"}.items():
        (folder / name).write_bytes(data)
    (folder / "README.md").write_bytes(card(**FIELDS))
    return folder


def test_a_pushed_model_is_pulled_and_verified(folder: Path, store: Store, told: Told, tmp_path: Path) -> None:
    target = tmp_path / "shared/mine"
    pushed = push(open_folder(folder), str(target), tell=told.notices.append)
    assert set(pushed.files) == {path.name for path in folder.iterdir()} == {path.name for path in target.iterdir()}
    given = read_card(target / "README.md")
    assert (given.caffemodel, given.sha256, given.license) == ("w.caffemodel", SHA256, "mit")
    assert given.text == "What there is to say."
    pull(store, PullRequest(open_model_source(str(target))), told.settings())
    (target / "w.caffemodel").write_bytes(b"\n\x05other")
    with pytest.raises(StoreError, match=rf"but {SHA256} is expected"):
        pull(store, PullRequest(open_model_source(str(target)), "again"), told.settings())
    assert told.notices == []


def test_a_card_loses_the_addresses_of_replaced_weights(folder: Path, told: Told, tmp_path: Path) -> None:
    old = {"sha1": "0" * 40, "caffemodel_url": "https://example.org/old", "mirrors": "[https://example.org/older]"}
    (folder / "README.md").write_bytes(card(**FIELDS, **old))
    push(open_folder(folder), str(tmp_path / "new"), tell=told.notices.append)
    given = read_card(tmp_path / "new/README.md")
    assert (given.sha256, given.sha1, given.caffemodel_url, given.mirrors) == (SHA256, "", "", ())
    assert "w.caffemodel: the file differs from the card" in told.notices[0]
    (folder / "README.md").write_bytes(card(**FIELDS, **{**old, "sha1": SHA1}))
    push(open_folder(folder), str(tmp_path / "same"), tell=told.notices.append)
    given = read_card(tmp_path / "same/README.md")
    assert (given.sha256, given.sha1, given.caffemodel_url) == (SHA256, SHA1, "https://example.org/old")
    assert len(told.notices) == 1


def test_a_missing_card_is_reported_with_its_template(folder: Path, told: Told, tmp_path: Path) -> None:
    (folder / "README.md").write_bytes(card(summary="A net."))
    with pytest.raises(
        StoreError, match=r"README.md: the card has no license; begin it with a line of '---', `name: ...`"
    ):
        push(open_folder(folder), str(tmp_path / "new"), tell=told.notices.append)
    (folder / "README.md").unlink()
    with pytest.raises(StoreError, match=r"mine: there is no README.md that describes the model; begin it with"):
        push(open_folder(folder), str(tmp_path / "new"), tell=told.notices.append)
    assert not (tmp_path / "new").exists()


def test_no_file_is_overwritten_and_a_failure_leaves_no_file(folder: Path, told: Told, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    with pytest.raises(StoreError, match="new: the folder already exists; name a new one"):
        push(open_folder(folder), str(tmp_path / "new"), tell=told.notices.append)
    (folder / "deploy.prototxt").unlink()
    (folder / "train_val.prototxt").write_bytes(NET)
    (folder / "deploy.prototxt").symlink_to("gone")
    push(open_folder(folder), str(tmp_path / "other"), tell=told.notices.append)
    assert not (tmp_path / "other/deploy.prototxt").exists()


def test_fields_of_a_card_are_changed_and_everything_else_stays() -> None:
    text = "---\nname: x\nsha1:\n  0a\nmirrors:\n- a\n- b\n\nother: [1,\n  2]\n---\nsha1: of what?\n---\n"
    changed = with_fields(text, {"sha1": "", "mirrors": "", "sha256": "1b"})
    assert changed == "---\nname: x\nother: [1,\n  2]\nsha256: 1b\n---\nsha1: of what?\n---\n"
    assert with_fields("no card", {"sha1": "x"}) == "no card"
