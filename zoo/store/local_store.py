"""The store's folder. Each model has its own folder, which appears only when it is complete."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from caffe_proto.errors import FileError
from zoo.cards import CARD, Card, read_card
from zoo.model_folder import ModelFolder
from zoo.store.errors import StoreError
from zoo.store.records import RECORD, StoreRecord, read_record

_LOCKS = ".locks"
_PULLING = ".pulling"
_MODEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True)
class Store:
    """The models in a folder, by name."""

    path: Path

    def names(self) -> list[str]:
        """Return the names of all models, sorted."""
        if not os.path.isdir(self.path):  # noqa: PTH112  # is_dir() raises an error in a home that can't be read
            return []
        return sorted(path.name for path in self.path.iterdir() if path.is_dir() and not path.name.startswith("."))

    def has(self, name: str) -> bool:
        """Return whether there is a model with this name."""
        is_plain = bool(name) and Path(name).name == name and not name.startswith(".")
        return is_plain and os.path.isdir(self.path / name)  # noqa: PTH112  # as in names()

    def folder(self, name: str) -> Path:
        """Return the folder of a model, which may not exist."""
        return self.path / name

    def record(self, name: str) -> StoreRecord:
        """Return the source and the files of a model."""
        if not self.has(name):
            raise StoreError(f"{name}: not in the store; `zoo store list` shows the models that are")
        return read_record(self.folder(name))

    def model(self, name: str) -> ModelFolder | None:
        """Return the model with this name, or `None`."""
        if not self.has(name) or not (self.folder(name) / RECORD).is_file():
            return None
        return open_stored(self.folder(name))

    @contextmanager
    def locked(self, name: str, on_wait: Callable[[], object] | None = None) -> Iterator[None]:
        """Lock a model, so that only one process changes it. Without `on_wait`, raise an error if another process holds
        the lock."""
        lock = self.path / _LOCKS / name
        try:
            lock.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(lock, os.O_WRONLY | os.O_CREAT, 0o666)
        except OSError as problem:
            raise FileError(
                f"{lock}: the lock file can't be written: {problem.strerror}; check the path and its permissions"
            ) from None
        try:
            _lock_handle(handle, name, on_wait)
            yield
        finally:
            os.close(handle)

    def staging(self, name: str) -> Path:
        """Return the hidden folder for a model that isn't complete yet. It remains if a pull is interrupted."""
        path = self.path / f".{name}{_PULLING}"
        try:
            path.mkdir(exist_ok=True)
        except OSError as problem:
            raise FileError(
                f"{path}: the folder can't be created: {problem.strerror}; set NETDSL_HOME to another folder"
            ) from None
        return path

    def install(self, staging: Path, name: str) -> None:
        """Move a complete model to its final name."""
        try:
            staging.rename(self.folder(name))
        except OSError as problem:
            raise FileError(
                f"{self.folder(name)}: the folder can't be created: {problem.strerror}; set NETDSL_HOME to another "
                "folder"
            ) from None

    def unfinished(self) -> list[tuple[str, Path]]:
        """Return the names and folders of interrupted pulls."""
        if not self.path.is_dir():
            return []
        found = sorted(self.path.glob(f".*{_PULLING}"))
        return [(path.name[1:].removesuffix(_PULLING), path) for path in found]

    def remove(self, path: Path) -> None:
        """Remove a folder of the store. Other processes never see it half removed."""
        hidden = self.path / f".removed.{token_hex(8)}"
        try:
            path.rename(hidden)
            shutil.rmtree(hidden)
        except OSError as problem:
            raise FileError(
                f"{path}: the folder can't be removed: {problem.strerror}; check its permissions with `ls -ld "
                f"{self.path}`"
            ) from None


def open_stored(path: Path) -> ModelFolder:
    """Return the model in a folder of the store. The store also accepts models in other formats than Caffe's."""
    card = path / CARD
    return ModelFolder(path, read_card(card) if card.is_file() else Card(path.name))


def _lock_handle(handle: int, name: str, on_wait: Callable[[], object] | None) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if on_wait is None:
            raise StoreError(f"{name}: another process is pulling it; try again when that has ended") from None
        on_wait()
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError:
        with suppress(OSError):  # not every file system supports locks
            fcntl.flock(handle, fcntl.LOCK_EX)


def name_from(text: str) -> str:
    """Return a model name derived from its source's name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._") or "model"


def checked_model_name(name: str) -> str:
    """Return a model's name in the store. Raises an error if it can't be the name of a folder, or could mean something
    else."""
    if _MODEL_NAME.fullmatch(name) is None:
        raise StoreError(
            f"'{name}' isn't a valid name for a model; use letters, digits, dots, '-' and '_', or choose another "
            "name with --as"
        )
    return name
