"""Everything that can go wrong with a file, as one tree of exceptions whose messages say where, what and what to do."""

from __future__ import annotations

from pathlib import Path


class CaffeError(Exception):
    """The root: whatever this project raises about a user's input is one of these."""


class FileError(CaffeError):
    """A file that can't be opened, or isn't what it was taken for."""


class TextError(CaffeError):
    """A prototxt that can't be understood, with the line and column."""

    def __init__(self, what: str, *, where: str | Path = "prototxt", line: int = 0, column: int = 0) -> None:
        super().__init__(f"{where}:{line}:{column}: {what}")
        self.where, self.line, self.column, self.what = str(where), line, column, what


class UnknownNameError(TextError):
    """A field or an enum value that the schema doesn't have."""


class BinaryError(CaffeError):
    """A binary file whose bytes are cut short, damaged or not what they claim."""


class BlobError(CaffeError):
    """A blob whose shape and values don't fit each other."""


class DialectError(CaffeError):
    """A dialect that doesn't exist, or one that can't say what a message holds."""


class UpgradeError(CaffeError):
    """An old net or solver that has no equal in today's form."""


class MissingExtraError(CaffeError):
    """An optional package that a task needs isn't installed."""


class UnknownFieldWarning(UserWarning):
    """A field that was skipped because nothing knows it."""
