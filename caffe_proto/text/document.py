"""Parses prototxt into a tree of ordered fields with comments and positions.

This module contains the tokens and the grammar. It doesn't use the schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

from caffe_proto.errors import TextError
from caffe_proto.shown_text import shown
from caffe_proto.wire import MAX_DEPTH


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
        """Return the fields with the given name."""
        return (entry for entry in self.entries if entry.name == name)


@dataclass(slots=True)
class Entry:
    """A field with its value, or with several values in brackets.

    `leading` contains the comment lines above the field, where "" is a blank line. `trailing` is the comment after it.
    """

    name: str
    values: list[Scalar | Body] = field(default_factory=list)
    bracketed: bool = False
    leading: list[str] = field(default_factory=list)
    trailing: str = ""
    line: int = 0
    column: int = 0

    def bodies(self) -> Iterator[Body]:
        """Return the messages among the values."""
        return (value for value in self.values if isinstance(value, Body))


class TokenKind(Enum):
    """The kind of a token."""

    BARE = auto()  # a name, a number or an enum value: everything without quotes
    STRING = auto()
    MARK = auto()
    COMMENT = auto()
    END = auto()


class Token(NamedTuple):
    """One token. `blank` is true if an empty line precedes it."""

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
    """Yield the tokens of a text, then a token of kind END."""
    _refuse_conflicts(text, where)
    line, line_start, newlines, offset = 1, 0, 0, 0
    while offset < len(text):
        match = _TOKEN.match(text, offset)
        column = offset - line_start + 1
        if match is None:
            raise TextError(
                f"the string that starts with {text[offset]} is never closed; write a quotation mark at its end",
                where=where,
                line=line,
                column=column,
            )
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
    """Return a text as an error quotes it: short, on one line, without control characters."""
    return shown(text if len(text) <= _MAX_EXCERPT else text[:_MAX_EXCERPT] + "...")


def _refuse_conflicts(text: str, where: str) -> None:
    """Raise a `TextError` if the text contains the marks of an unfinished merge, which are common in real files."""
    match = _CONFLICT.search(text)
    if match:
        what = (
            f"'{match.group(1)}' is the mark of an unfinished merge; keep one of the two versions, and remove the "
            "lines with the marks"
        )
        raise TextError(what, where=where, line=text.count("\n", 0, match.start()) + 1, column=1)


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TEMPLATE = "this looks like a template with placeholders; fill them in first"
_CLOSING = {"{": "}", "<": ">"}


def parse(text: str, where: str = "prototxt") -> Body:
    """Parse a text into its fields. The fields may belong to any message."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return _Parser(text, where).file()


class _Parser:
    """Parses the tokens in one pass. A comment belongs to the field below it, or to the field before it on its line."""

    def __init__(self, text: str, where: str) -> None:
        self.where = where
        self.stream = tokenize(text, where)
        self.comments: list[str] = []
        self.last: Entry | None = None  # the field that a comment on the same line belongs to
        self.last_line = 0
        self.token = self._next()

    def file(self) -> Body:
        body = self._body("", depth=0)
        if self.token.kind is not TokenKind.END:
            raise self._error(
                f"'{self.token.text}' closes a block that was never opened; remove it, or the brace before it that "
                "is one too many"
            )
        return body

    def _next(self) -> Token:
        """Return the next token that isn't a comment. Comments are kept for their field."""
        for token in self.stream:
            if token.kind is not TokenKind.COMMENT:
                self._blank(token)
                return token
            if self.last is not None and token.line == self.last_line and not self.last.trailing:
                self.last.trailing = token.text
            else:
                self._blank(token)
                self.comments.append(token.text)
        raise AssertionError("read past the end")

    def _blank(self, token: Token) -> None:
        if token.blank and token.kind is not TokenKind.END:
            self.comments.append("")

    def _advance(self) -> Token:
        token, self.token = self.token, self._next()
        return token

    def _take_comments(self) -> list[str]:
        comments, self.comments = self.comments, []
        return comments

    def _at(self, *marks: str) -> bool:
        return self.token.kind is TokenKind.MARK and self.token.text in marks

    def _body(self, closing: str, depth: int) -> Body:
        if depth > MAX_DEPTH:
            raise self._error(f"blocks are nested more than {MAX_DEPTH} deep; close the blocks before it with '}}'")
        body = Body()
        while self.token.kind is not TokenKind.END and not self._at("}", ">", "]"):
            body.entries.append(self._entry(depth))
        body.closing = self._take_comments()
        while body.closing and not body.closing[-1]:
            body.closing.pop()
        if closing and not self._at(closing):
            raise self._error(
                f"expected '{closing}', found {self._found_text()}; close the block, and check the braces before "
                "this place"
            )
        return body

    def _entry(self, depth: int) -> Entry:
        token = self.token
        if token.kind is not TokenKind.BARE or not _NAME.fullmatch(token.text):
            advice = _TEMPLATE if token.text[:1] in ("{", "$", "%") else "write one, as in kernel_size: 3"
            raise self._error(f"expected the name of a field, found {self._found_text()}; {advice}")
        entry = Entry(token.text, leading=self._take_comments(), line=token.line, column=token.column)
        self.last = None
        self._advance()
        colon = self._at(":")
        if colon:
            self._advance()
        self._values(entry, colon, depth)
        while self._at(",", ";"):
            self._advance()
        return entry

    def _values(self, entry: Entry, colon: bool, depth: int) -> None:
        if not colon and not self._at("{", "<", "["):
            raise self._error(
                f"expected ':' or '{{' after '{excerpt(entry.name)}', found {self._found_text()}; "
                "write a setting as name: value, and a block as name { ... }"
            )
        if not self._at("["):
            entry.values.append(self._value(entry, depth))
            return
        entry.bracketed = True
        self._advance()
        while not self._at("]"):
            entry.values.append(self._value(entry, depth, inside=True))
            if self._at(","):
                self._advance()
        self._close(entry)

    def _value(self, entry: Entry, depth: int, inside: bool = False) -> Scalar | Body:
        token = self.token
        if self._at("{", "<"):
            self.last = None
            self._advance()
            body = self._body(_CLOSING[token.text], depth + 1)
            body.one_line = self.token.line == token.line
            self._close(None if inside else entry)
            return body
        if token.kind not in (TokenKind.BARE, TokenKind.STRING):
            raise self._error(
                f"expected a value for '{excerpt(entry.name)}', found {self._found_text()}; write it after the "
                "name, as in kernel_size: 3"
            )
        if token.kind is TokenKind.BARE and token.text[0] in "$%@":
            raise self._error(f"the value of '{excerpt(entry.name)}' is {excerpt(token.text)}; {_TEMPLATE}")
        self.last = None if inside else entry
        pieces = [self._piece()]
        while token.kind is TokenKind.STRING and self.token.kind is TokenKind.STRING:  # "a" "b" is one string
            pieces.append(self._piece())
        return Scalar(" ".join(pieces), token.kind is TokenKind.STRING, token.line, token.column)

    def _piece(self) -> str:
        self.last_line = self.token.line + self.token.text.count("\n")
        return self._advance().text

    def _close(self, entry: Entry | None) -> None:
        """Step over a closing brace. A comment after it belongs to the field."""
        self.last, self.last_line = entry, self.token.line
        self._advance()

    def _found_text(self) -> str:
        quote = "" if self.token.kind is TokenKind.STRING else "'"
        return f"{quote}{excerpt(self.token.text)}{quote}" if self.token.text else "the end of the file"

    def _error(self, what: str) -> TextError:
        return TextError(what, where=self.where, line=self.token.line, column=self.token.column)
