"""Pushing: a model's whole folder is published, with a card that contains the hash of its weights."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from caffe_proto.addresses import local_path
from caffe_proto.errors import CaffeError, FileError
from caffe_proto.storage import temporary_folder, write_pieces
from netdsl.storage.local_copies import with_addresses
from zoo.cards import CARD, Card, parse_card
from zoo.model_folder import ModelFolder
from zoo.store.errors import StoreError
from zoo.store.hub import HubSource, upload
from zoo.store.hub_card import hub_fields, use_of
from zoo.store.incoming_folder import hash_file, is_kept, stored_name
from zoo.store.pull import NOT_PUBLISHED, expected_weights, with_fields, with_missing_fields
from zoo.store.sources import HUB

_WHAT_TO_WRITE = (
    "begin it with a line of '---', `name: ...`, `summary: ...`, `license: ...`, a line of '---', and then a "
    "description for users"
)


@dataclass(frozen=True)
class PushedModel:
    """The destination of a pushed model, and the files that were written there."""

    address: str
    files: tuple[str, ...]


def push(folder: ModelFolder, target: str, *, private: bool = False, tell: Callable[[str], object]) -> PushedModel:
    """Write a model's folder to a new folder, or to a repository on the hub."""
    card = _complete_card(folder)
    files = [path for path in sorted(folder.path.iterdir()) if path.is_file() and is_kept(path.name)]
    left_out = [path.name for path in folder.path.iterdir() if path not in files and not path.name.startswith(".")]
    if left_out:
        tell(f"{folder.path}: left out {', '.join(sorted(left_out))}")
    text = _card_text(folder, card, tell)
    if target.startswith(HUB):
        repository = HubSource(target.removeprefix(HUB)).repository
        text = with_missing_fields(text, hub_fields(card, [path.name for path in files]))
        text += "" if f"hf:{repository}" in text else use_of(repository)
        address = _push_to_hub(files, text, repository, card.name, private=private)
    else:
        address = _push_to_folder(files, text, local_path(target, "a folder"))
    return PushedModel(address, tuple(stored_name(path.name) for path in files))


def _complete_card(folder: ModelFolder) -> Card:
    """Return the card. It must contain the fields that others need to decide whether to use the model."""
    path = folder.path / CARD
    if not path.is_file():
        raise StoreError(f"{folder.path}: there is no {CARD} that describes the model; {_WHAT_TO_WRITE}")
    missing = [name for name in ("summary", "license") if not getattr(folder.card, name)]
    if missing:
        raise StoreError(f"{path}: the card has no {' and no '.join(missing)}; {_WHAT_TO_WRITE}")
    return folder.card


def _card_text(folder: ModelFolder, card: Card, tell: Callable[[str], object]) -> str:
    """Return the card with the name and the hash of the weights. Facts about other weights are removed."""
    text = (folder.path / CARD).read_text(encoding="utf-8", errors="replace")
    if not folder.weights:
        tell(f"{folder.path}: there are no weights, so only the nets are pushed")
        return text
    (weights,) = folder.weights
    hashes = hash_file(weights)
    changes = {"caffemodel": weights.name, "sha256": hashes.sha256}
    if hashes.difference(expected_weights(card)) is not None:
        tell(
            f"{weights}: the file differs from the card, so the card's hashes are replaced and its addresses of "
            "weights are removed"
        )
        changes |= NOT_PUBLISHED
    return _checked_card_text(with_fields(text, changes), folder.path / CARD)


def _checked_card_text(text: str, path: Path) -> str:
    try:
        parse_card(text, str(path))
    except CaffeError as problem:
        raise StoreError(
            f"{problem}; write `sha256: HASH` into the card yourself, with the hash that `sha256sum FILE` prints"
        ) from None
    return text


def _push_to_folder(files: list[Path], card: str, target: Path) -> str:
    if target.exists():
        raise StoreError(f"{target}: the folder already exists; name a new one")
    try:
        target.absolute().parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(target.absolute().parent, target.name) as hidden:
            _write_files(files, card, hidden)
            hidden.chmod(0o755)
            hidden.rename(target)
    except OSError as problem:
        raise FileError(
            f"{target}: the folder can't be written: {problem.strerror or problem}; choose a folder that you "
            "can write to, or free space there"
        ) from None
    return with_addresses(str(target))


def _push_to_hub(files: list[Path], card: str, repository: str, name: str, *, private: bool) -> str:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as hidden:
        _write_files(files, card, Path(hidden), links=True)
        return upload(Path(hidden), repository, private=private, message=f"{name}, by zoo push")


def _write_files(files: list[Path], card: str, folder: Path, *, links: bool = False) -> None:
    """Write all files to a folder. With `links`, large files are linked instead of copied."""
    for path in files:
        if stored_name(path.name) == CARD:
            continue
        if links:
            (folder / path.name).symlink_to(path.resolve())
        else:
            shutil.copyfile(path, folder / path.name)
    write_pieces(folder / CARD, [card.encode()])
