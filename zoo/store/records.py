"""Records of stored models, with hashes of their files, and lock files, which pin the models that a project uses."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from caffe_proto.errors import FileError
from caffe_proto.storage import check_regular, write_pieces
from zoo.store.errors import StoreError

RECORD = ".source.json"  # a file in a stored model's folder
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
    """The record of a stored model."""

    name: str
    source: str
    revision: str  # the source's name for this version; empty if it has no versions
    fetched: str  # the time of the pull, in UTC
    files: tuple[StoredFile, ...]
    weights: tuple[str, ...] = ()  # files and addresses that the user added
    version: int = _RECORD_VERSION

    @property
    def size(self) -> int:
        """The total size of all files in bytes."""
        return sum(file.size for file in self.files)


def now() -> str:
    """Return the current time in the format of records."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_record(folder: Path) -> StoreRecord:
    """Return the record in a model's folder."""
    path = folder / RECORD
    try:
        check_regular(path)
        record = msgspec.json.decode(path.read_bytes(), type=StoreRecord)
    except (FileError, OSError, msgspec.MsgspecError, UnicodeDecodeError):
        raise StoreError(
            f"{folder}: there is no record of the model's source; remove it with `zoo store prune {folder.name}`"
        ) from None
    if record.version != _RECORD_VERSION or any(Path(file.name).name != file.name for file in record.files):
        raise StoreError(f"{path}: the record is from another version of netdsl; pull the model again")
    return record


def write_record(folder: Path, record: StoreRecord) -> None:
    """Write the record of a model's folder after all its files are there."""
    write_pieces(folder / RECORD, [msgspec.json.format(msgspec.json.encode(record), indent=2)], durable=True)


@dataclass(frozen=True)
class LockedModel:
    """A model that is pinned to a source, a revision and hashes."""

    name: str
    source: str
    revision: str
    files: tuple[StoredFile, ...]
    weights: tuple[str, ...] = ()


@dataclass(frozen=True)
class LockFile:
    """The models in a lock file, sorted by name."""

    models: tuple[LockedModel, ...] = ()
    version: int = _LOCK_VERSION


def read_lock(path: Path) -> LockFile:
    """Return the models that a lock file pins."""
    check_regular(path)
    try:
        lock = msgspec.json.decode(path.read_bytes(), type=LockFile)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise StoreError(f"{path}: not a lock file: {problem}; write one with `zoo pull MODEL --lock FILE`") from None
    if lock.version != _LOCK_VERSION:
        raise StoreError(
            f"{path}: the file has version {lock.version}, but this netdsl reads version {_LOCK_VERSION}; write the "
            "file again with `zoo pull MODEL --lock FILE`"
        )
    return lock


def add_to_lock(path: Path, record: StoreRecord) -> None:
    """Pin a stored model in a lock file, which is created if needed."""
    others = [model for model in read_lock(path).models if model.name != record.name] if path.exists() else []
    locked = LockedModel(record.name, record.source, record.revision, record.files, record.weights)
    models = sorted([*others, locked], key=lambda model: model.name)
    text = msgspec.json.format(msgspec.json.encode(LockFile(tuple(models))), indent=2)
    write_pieces(path, [text, b"\n"])
