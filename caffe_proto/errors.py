"""Exceptions for damaged, unsuitable and missing files. Messages say where, what and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

from caffe_proto.shown_text import LONGEST_MESSAGE, shown


class CaffeError(Exception):
    """The base class of all errors about a user's input.

    A message may contain text from a file, so it is shown escaped and shortened.
    """

    def __str__(self) -> str:
        return shown(super().__str__(), LONGEST_MESSAGE, keep="\n")


class CaffeWarning(UserWarning):
    """The base class of all warnings about a user's input. It is shown as a `CaffeError` is."""

    def __str__(self) -> str:
        return shown(super().__str__(), LONGEST_MESSAGE, keep="\n")


class FileError(CaffeError):
    """A file can't be opened, or contains something unexpected."""


class TextError(CaffeError):
    """A prototxt can't be parsed. The message contains the line and column."""

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
    """A dialect doesn't exist, or lacks a field that a message sets."""


class UpgradeError(CaffeError):
    """An old net or solver has no equivalent in today's form."""


class LimitError(CaffeError):
    """A file asks for more work than a limit allows. The message contains the setting that allows it."""


class SettingError(CaffeError):
    """An environment variable has an unknown value."""


class MissingExtraError(CaffeError):
    """An optional package that a task needs isn't installed."""


class UnknownFieldWarning(CaffeWarning):
    """A field was skipped because the schema doesn't have it."""


def in_file(path: str | Path, problem: CaffeError) -> str:
    """Return the text of a problem with the file's name in front, unless it already begins with the name."""
    where = shown(path, keep="\n")
    return str(problem) if str(problem).startswith(f"{where}:") else f"{where}: {problem}"


def few(words: Iterable[str], most: int) -> str:
    """Return the first few words for a message, and the number of words left out."""
    words = list(words)
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def name_advice(name: str, known: Iterable[str], most: int = 20) -> str:
    """Return advice about an unknown name: a question with the most similar known name, or the names to choose from."""
    names = {each.lower(): each for each in known}
    near = get_close_matches(name.lower(), names, 1)
    return f"did you mean {names[near[0]]}?" if near else f"use one of {few(names.values(), most)}"


def import_extra(module: str, extra: str, need: str) -> Any:
    """Import and return a module of an optional package.

    Raises a `MissingExtraError` with the command that installs the package.
    """
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError(f"{need}: pip install 'netdsl[{extra}]'") from None
