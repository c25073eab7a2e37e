"""The folder in which pulled models are, each in a folder of its own that appears whole."""

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
    """The models in a folder, by their names."""

    path: Path

    def names(self) -> list[str]:
        """Return the names of all models, in their order."""
        if not self.path.is_dir():
            return []
        return sorted(path.name for path in self.path.iterdir() if path.is_dir() and not path.name.startswith("."))

    def has(self, name: str) -> bool:
        """Return whether there is a model of this name."""
        return bool(name) and Path(name).name == name and not name.startswith(".") and (self.path / name).is_dir()

    def folder(self, name: str) -> Path:
        """Return the folder of a model, whether it is there or not."""
        return self.path / name

    def record(self, name: str) -> StoreRecord:
        """Return where a model is from, and its files."""
        if not self.has(name):
            raise StoreError(f"{name}: isn't in the store; `zoo store list` has the names of what is")
        return read_record(self.folder(name))

    def model(self, name: str) -> ModelFolder | None:
        """Return a model; None if there is none of this name."""
        if not self.has(name) or not (self.folder(name) / RECORD).is_file():
            return None
        return open_stored(self.folder(name))

    @contextmanager
    def locked(self, name: str, on_wait: Callable[[], object] | None = None) -> Iterator[None]:
        """The model is changed by one process at a time. Without `on_wait` an error says that another one has it."""
        lock = self.path / _LOCKS / name
        try:
            lock.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(lock, os.O_WRONLY | os.O_CREAT, 0o666)
        except OSError as problem:
            raise FileError(f"{lock}: can't be written: {problem.strerror}") from None
        try:
            _lock_handle(handle, name, on_wait)
            yield
        finally:
            os.close(handle)

    def staging(self, name: str) -> Path:
        """Return the hidden folder in which a model is until it is whole; it stays when a pull breaks off."""
        path = self.path / f".{name}{_PULLING}"
        try:
            path.mkdir(exist_ok=True)
        except OSError as problem:
            raise FileError(f"{path}: can't be made: {problem.strerror}") from None
        return path

    def install(self, staging: Path, name: str) -> None:
        """Give a whole model its name."""
        try:
            staging.rename(self.folder(name))
        except OSError as problem:
            raise FileError(f"{self.folder(name)}: can't be made: {problem.strerror}") from None

    def unfinished(self) -> list[tuple[str, Path]]:
        """Return the folders of pulls that broke off, and their models' names."""
        if not self.path.is_dir():
            return []
        found = sorted(self.path.glob(f".*{_PULLING}"))
        return [(path.name[1:].removesuffix(_PULLING), path) for path in found]

    def remove(self, path: Path) -> None:
        """Remove a folder of the store, which nobody sees in part."""
        hidden = self.path / f".removed.{token_hex(8)}"
        try:
            path.rename(hidden)
            shutil.rmtree(hidden)
        except OSError as problem:
            raise FileError(f"{path}: can't be removed: {problem.strerror}") from None


def open_stored(path: Path) -> ModelFolder:
    """Return the model in a folder of the store. A file of another kind than Caffe's is a model there, too."""
    card = path / CARD
    return ModelFolder(path, read_card(card) if card.is_file() else Card(path.name))


def _lock_handle(handle: int, name: str, on_wait: Callable[[], object] | None) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if on_wait is None:
            raise StoreError(f"{name}: another process pulls it now; try again when it has ended") from None
        on_wait()
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError:
        with suppress(OSError):  # not every file system has locks
            fcntl.flock(handle, fcntl.LOCK_EX)


def name_from(text: str) -> str:
    """Return a name for a model, made of what its source is called."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._") or "model"


def checked_model_name(name: str) -> str:
    """Return a model's name in the store; an error if it couldn't be a folder's or would be taken for something
    else."""
    if _MODEL_NAME.fullmatch(name) is None:
        raise StoreError(f"'{name}' isn't a name for a model; --as takes letters, digits, dots, '-' and '_'")
    return name
