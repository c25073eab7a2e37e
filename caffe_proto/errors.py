"""The exceptions for all that can be wrong with a file or is missing. Messages say where, what and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any


class CaffeError(Exception):
    """The base class of every error about a user's input."""


class FileError(CaffeError):
    """A file can't be opened, or holds something else than was asked for."""


class TextError(CaffeError):
    """A prototxt can't be understood; the message has the line and column."""

    def __init__(self, what: str, *, where: str | Path = "prototxt", line: int = 0, column: int = 0) -> None:
        super().__init__(f"{where}:{line}:{column}: {what}")
        self.where, self.line, self.column, self.what = str(where), line, column, what


class UnknownNameError(TextError):
    """The schema doesn't have a field or an enum value."""


class BinaryError(CaffeError):
    """The bytes of a binary file are cut short or damaged."""


class BlobError(CaffeError):
    """The shape and the values of a blob don't fit each other."""


class DialectError(CaffeError):
    """A dialect doesn't exist, or lacks a field of a message."""


class UpgradeError(CaffeError):
    """An old net or solver has no equivalent in today's form."""


class MissingExtraError(CaffeError):
    """An optional package that a task needs isn't installed."""


class UnknownFieldWarning(UserWarning):
    """A field was skipped because the schema doesn't have it."""


def in_file(path: str | Path, problem: CaffeError) -> str:
    """Return what is wrong, with the file's name in front of it, unless the problem begins with that by itself."""
    return str(problem) if str(problem).startswith(f"{path}:") else f"{path}: {problem}"


def few(words: Iterable[str], most: int) -> str:
    """Return the first of some words, for a message, and how many more there are."""
    words = list(words)
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def import_extra(module: str, extra: str, need: str) -> Any:
    """Return a module of an optional package; if it isn't installed, a MissingExtraError with the need and what to
    install."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError(f"{need}: pip install 'netdsl[{extra}]'") from None
