"""Lock files: which models a project uses, to the byte."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from caffe_proto.storage import check_regular, write_pieces
from zoo.store.errors import StoreError
from zoo.store.record import StoredFile, StoreRecord

_VERSION = 1


@dataclass(frozen=True)
class LockedModel:
    """A model of a certain source, revision and bytes."""

    name: str
    source: str
    revision: str
    files: tuple[StoredFile, ...]
    weights: tuple[str, ...] = ()


@dataclass(frozen=True)
class LockFile:
    """The models of a lock file, in the order of their names."""

    models: tuple[LockedModel, ...] = ()
    version: int = _VERSION


def read_lock(path: Path) -> LockFile:
    """The models that a lock file pins."""
    check_regular(path)
    try:
        lock = msgspec.json.decode(path.read_bytes(), type=LockFile)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise StoreError(f"{path}: is no lock file: {problem}; `zoo pull MODEL --lock FILE` writes one") from None
    if lock.version != _VERSION:
        raise StoreError(f"{path}: is of version {lock.version}, and this netdsl reads version {_VERSION}")
    return lock


def add_to_lock(path: Path, record: StoreRecord) -> None:
    """Pin a stored model in a lock file, which is made if it isn't there."""
    others = [model for model in read_lock(path).models if model.name != record.name] if path.exists() else []
    locked = LockedModel(record.name, record.source, record.revision, record.files, record.weights)
    models = sorted([*others, locked], key=lambda model: model.name)
    text = msgspec.json.format(msgspec.json.encode(LockFile(tuple(models))), indent=2)
    write_pieces(path, [text, b"\n"])
