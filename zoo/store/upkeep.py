"""Maintenance of the store: checking all files against their hashes, and removing damaged and unwanted models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from caffe_proto.errors import CaffeError
from caffe_proto.storage import remove_leftovers
from zoo.store.download import PART
from zoo.store.errors import StoreError
from zoo.store.incoming_folder import hash_stored, is_partial
from zoo.store.local_store import Store, open_stored
from zoo.store.records import RECORD, StoredFile, StoreRecord


@dataclass(frozen=True)
class ListedModel:
    """A line about a model in the store."""

    name: str
    source: str
    revision: str
    task: str
    size: int
    has_weights: bool = False
    problem: str = ""


@dataclass(frozen=True)
class CheckedModel:
    """The differences between a model and its record. There are none if the model is unchanged."""

    name: str
    problems: tuple[str, ...]


@dataclass(frozen=True)
class RemovedPath:
    """A path that was removed from the store."""

    path: Path
    reason: str


def list_models(store: Store) -> list[ListedModel]:
    """Return all models in the store."""
    return [_listed_model(store, name) for name in store.names()]


def _listed_model(store: Store, name: str) -> ListedModel:
    try:
        record, model = store.record(name), open_stored(store.folder(name))
    except CaffeError as problem:
        return ListedModel(name, "", "", "", 0, problem=str(problem))
    task = model.card.task.value if model.card.task else ""
    return ListedModel(name, record.source, record.revision, task, record.size, model.has_weights)


def check_model(store: Store, name: str) -> CheckedModel:
    """Check all files of a model against their hashes."""
    try:
        record = store.record(name)
    except StoreError as error:
        return CheckedModel(name, (str(error),))
    problems = []
    for file in record.files:
        problem = _difference_of_file(store.folder(name), file)
        if problem is not None:
            problems.append(problem)
    return CheckedModel(name, tuple(problems))


def _difference_of_file(folder: Path, file: StoredFile) -> str | None:
    try:
        here = hash_stored(folder, file)
    except CaffeError as problem:
        return str(problem)
    if here is None:
        return f"{folder / file.name}: the file is missing"
    return None if here == file else f"{folder / file.name}: the file has changed since it was stored"


def added_files(store: Store, record: StoreRecord) -> list[str]:
    """Return files that were added to a model's folder after it was stored."""
    known = {RECORD, *(file.name for file in record.files)}
    return sorted(path.name for path in store.folder(record.name).iterdir() if path.name not in known)


def prune(store: Store, names: Sequence[str] = (), *, everything: bool = False) -> list[RemovedPath]:
    """Remove the named models, or all models. Without either, remove damaged models and incomplete downloads."""
    for name in names:
        if not store.has(name):
            raise StoreError(f"{name}: not in the store; `zoo store list` shows the models that are")
    remove_leftovers(store.path)
    removed = [] if names else _remove_unfinished(store)
    for name in names or store.names():
        with store.locked(name):
            reason = "as requested" if names or everything else "; ".join(check_model(store, name).problems)
            if reason:
                store.remove(store.folder(name))
                removed.append(RemovedPath(store.folder(name), reason))
            else:
                removed += _remove_parts(store.folder(name))
    return removed


def _remove_unfinished(store: Store) -> list[RemovedPath]:
    for name, path in (found := store.unfinished()):
        with store.locked(name):
            store.remove(path)
    return [RemovedPath(path, "an interrupted pull") for _, path in found]


def _remove_parts(folder: Path) -> list[RemovedPath]:
    parts = [path for path in sorted(folder.iterdir()) if is_partial(path)]
    for path in parts:
        path.unlink(missing_ok=True)
    return [RemovedPath(path, "an incomplete download") for path in parts if path.name.endswith(PART)]
