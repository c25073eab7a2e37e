"""Records of stored models, with hashes of their files, and lock files, which pin the models that a project uses."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from caffe_proto.errors import FileError
from caffe_proto.storage import check_regular, write_pieces
from zoo.store.errors import StoreError

RECORD = ".source.json"  # in a stored model's folder
_RECORD_VERSION = 1

_LOCK_VERSION = 1


@dataclass(frozen=True)
class StoredFile:
    """A file of a model."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class StoreRecord:
    """What the store knows about a model."""

    name: str
    source: str
    revision: str  # what the source calls this version; empty if it has no versions
    fetched: str  # when, in UTC
    files: tuple[StoredFile, ...]
    weights: tuple[str, ...] = ()  # files and addresses that a user named besides
    version: int = _RECORD_VERSION

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(file.size for file in self.files)


def now() -> str:
    """Return the time, as records have it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_record(folder: Path) -> StoreRecord:
    """Return the record of a model's folder."""
    path = folder / RECORD
    try:
        check_regular(path)
        record = msgspec.json.decode(path.read_bytes(), type=StoreRecord)
    except (FileError, OSError, msgspec.MsgspecError, UnicodeDecodeError):
        raise StoreError(
            f"{folder}: has no record of where it is from; `zoo store prune {folder.name}` removes it"
        ) from None
    if record.version != _RECORD_VERSION or any(Path(file.name).name != file.name for file in record.files):
        raise StoreError(f"{path}: is the record of another version of netdsl; pull the model again")
    return record


def write_record(folder: Path, record: StoreRecord) -> None:
    """Write the record of a model's folder, when all its files are there."""
    write_pieces(folder / RECORD, [msgspec.json.format(msgspec.json.encode(record), indent=2)], durable=True)


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
    version: int = _LOCK_VERSION


def read_lock(path: Path) -> LockFile:
    """Return the models that a lock file pins."""
    check_regular(path)
    try:
        lock = msgspec.json.decode(path.read_bytes(), type=LockFile)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise StoreError(f"{path}: isn't a lock file: {problem}; `zoo pull MODEL --lock FILE` writes one") from None
    if lock.version != _LOCK_VERSION:
        raise StoreError(f"{path}: is of version {lock.version}, and this netdsl reads version {_LOCK_VERSION}")
    return lock


def add_to_lock(path: Path, record: StoreRecord) -> None:
    """Pin a stored model in a lock file, which is made if it isn't there."""
    others = [model for model in read_lock(path).models if model.name != record.name] if path.exists() else []
    locked = LockedModel(record.name, record.source, record.revision, record.files, record.weights)
    models = sorted([*others, locked], key=lambda model: model.name)
    text = msgspec.json.format(msgspec.json.encode(LockFile(tuple(models))), indent=2)
    write_pieces(path, [text, b"\n"])
