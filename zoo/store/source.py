"""Where a model is pulled from: the interface of all sources, and the names of models."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Protocol

from zoo.store.errors import StoreError
from zoo.store.incoming_folder import IncomingFolder


class ModelSource(Protocol):
    """A place that a model is pulled from."""

    @property
    def address(self) -> str:
        """How the place is written, here and in records and lock files."""
        ...

    @property
    def default_name(self) -> str:
        """The model's name in the store, if a user gives it no other."""
        ...

    def at(self, revision: str) -> ModelSource:
        """The same place in one of its versions, if it has any."""
        ...

    def fill(self, folder: IncomingFolder) -> str:
        """Bring the model's files, and return the version that they are of."""
        ...


def name_from(text: str) -> str:
    """A name for a model, made of what its source is called."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._") or "model"


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def checked_model_name(name: str) -> str:
    """A model's name in the store; an error if it couldn't be a folder's or would be taken for something else."""
    if _NAME.fullmatch(name) is None:
        raise StoreError(f"'{name}' is no name for a model; --as takes letters, digits, dots, '-' and '_'")
    return name


def is_local(text: str) -> bool:
    """Whether this is something on the disk."""
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return False
