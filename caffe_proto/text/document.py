"""The syntax tree of a prototxt: fields in their order, with comments and positions, before the schema is applied."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(slots=True)
class Scalar:
    """One value as it is written in the file; `quoted` distinguishes "1" from 1."""

    text: str
    quoted: bool = False
    line: int = 0
    column: int = 0


@dataclass(slots=True)
class Body:
    """The fields between two braces, or those of the whole file."""

    entries: list[Entry] = field(default_factory=list)
    closing: list[str] = field(default_factory=list)  # comments after the last field
    one_line: bool = False

    def named(self, name: str) -> Iterator[Entry]:
        """The fields with a name."""
        return (entry for entry in self.entries if entry.name == name)


@dataclass(slots=True)
class Entry:
    """A field with its value, or with several in brackets.

    `leading` are the comment lines above it, where "" is a blank line; `trailing` is the comment after it.
    """

    name: str
    values: list[Scalar | Body] = field(default_factory=list)
    bracketed: bool = False
    leading: list[str] = field(default_factory=list)
    trailing: str = ""
    line: int = 0
    column: int = 0

    def bodies(self) -> Iterator[Body]:
        """The messages among the values."""
        return (value for value in self.values if isinstance(value, Body))
