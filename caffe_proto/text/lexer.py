"""The tokens of a prototxt with their lines and columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

from caffe_proto.errors import TextError


class TokenKind(Enum):
    """The kind of a token."""

    BARE = auto()  # a name, a number, an enum value: everything that isn't quoted
    STRING = auto()
    MARK = auto()
    COMMENT = auto()
    END = auto()


class Token(NamedTuple):
    """One token; `blank` says that an empty line precedes it."""

    kind: TokenKind
    text: str
    line: int
    column: int
    blank: bool


_TOKEN = re.compile(
    r"""(?P<space>[^\S\n]+)
      | (?P<newline>\n)
      | (?P<COMMENT>\#[^\n]*)
      | (?P<STRING>"[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*')
      | (?P<MARK>[{}\[\]<>:;,])
      | (?P<BARE>[^\s{}\[\]<>:;,#"']+)""",
    re.VERBOSE | re.DOTALL,
)
_MAX_EXCERPT = 60
_CONFLICT = re.compile(r"^(<{7}|={7}|>{7})(\s|$)", re.MULTILINE)


def tokenize(text: str, where: str) -> Iterator[Token]:
    """The tokens of a text, then one of kind END."""
    _refuse_conflicts(text, where)
    line, line_start, newlines, offset = 1, 0, 0, 0
    while offset < len(text):
        match = _TOKEN.match(text, offset)
        column = offset - line_start + 1
        if match is None:
            raise TextError(f"a {text[offset]} opens a string that never ends", where=where, line=line, column=column)
        offset = match.end()
        kind, token = str(match.lastgroup), match.group()
        if kind == "newline":
            line, line_start, newlines = line + 1, offset, newlines + 1
        elif kind != "space":
            yield Token(TokenKind[kind], token.rstrip() if kind == "COMMENT" else token, line, column, newlines > 1)
            newlines = 0
            if kind == "STRING" and "\n" in token:  # Python's parameters are sometimes written over several lines
                line, line_start = line + token.count("\n"), match.start() + token.rindex("\n") + 1
    yield Token(TokenKind.END, "", line, offset - line_start + 1, newlines > 1)


def excerpt(text: str) -> str:
    """A text as an error quotes it: short, on one line, without control characters."""
    piece = text if len(text) <= _MAX_EXCERPT else text[:_MAX_EXCERPT] + "..."
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in piece)


def _refuse_conflicts(text: str, where: str) -> None:
    """Raise a TextError for the marks of an unfinished merge, which are common in real files."""
    match = _CONFLICT.search(text)
    if match:
        what = f"'{match.group(1)}' is the mark of an unfinished merge; choose one of the two versions"
        raise TextError(what, where=where, line=text.count("\n", 0, match.start()) + 1, column=1)
