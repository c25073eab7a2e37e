"""Prototxt as tokens with their lines and columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

from caffe_proto.errors import TextError


class TokenKind(Enum):
    """What a token is."""

    BARE = auto()  # a name, a number, an enum value: whatever isn't quoted
    STRING = auto()
    MARK = auto()
    COMMENT = auto()
    END = auto()


class Token(NamedTuple):
    """A piece of the text; `blank` says that an empty line stands before it."""

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
_SHOWN = 60
_CONFLICT = re.compile(r"^(<{7}|={7}|>{7})(\s|$)", re.MULTILINE)


def tokens(text: str, where: str) -> Iterator[Token]:
    """All tokens, then one of kind END."""
    _refuse_conflicts(text, where)
    line, line_start, newlines, at = 1, 0, 0, 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        column = at - line_start + 1
        if match is None:
            raise TextError(f"a {text[at]} opens a string that never ends", where=where, line=line, column=column)
        at = match.end()
        kind, found = str(match.lastgroup), match.group()
        if kind == "newline":
            line, line_start, newlines = line + 1, at, newlines + 1
        elif kind != "space":
            yield Token(TokenKind[kind], found.rstrip() if kind == "COMMENT" else found, line, column, newlines > 1)
            newlines = 0
            if kind == "STRING" and "\n" in found:  # Python's parameters are sometimes written over several lines
                line, line_start = line + found.count("\n"), match.start() + found.rindex("\n") + 1
    yield Token(TokenKind.END, "", line, at - line_start + 1, newlines > 1)


def shown(text: str) -> str:
    """A piece of the file as an error quotes it: short, on one line, with nothing that a terminal would obey."""
    piece = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in piece)


def _refuse_conflicts(text: str, where: str) -> None:
    """A merge that was committed half done is common enough in real files to be called by its name."""
    match = _CONFLICT.search(text)
    if match:
        what = f"'{match.group(1)}' is the mark of an unfinished merge; choose one of the two versions"
        raise TextError(what, where=where, line=text.count("\n", 0, match.start()) + 1, column=1)
