"""The parser of prototxt: the grammar alone, as lenient as real files need."""

from __future__ import annotations

import re

from caffe_proto.errors import TextError
from caffe_proto.text.document import Body, Entry, Scalar
from caffe_proto.text.lexer import Token, TokenKind, excerpt, tokenize
from caffe_proto.wire import MAX_DEPTH

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TEMPLATE = "this looks like a template with placeholders: fill them in first"
_CLOSING = {"{": "}", "<": ">"}


def parse(text: str, where: str = "prototxt") -> Body:
    """Parse a text into its fields, whatever message they belong to."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return _Parser(text, where).file()


class _Parser:
    """One pass over the tokens; a comment belongs to the field below it or before it on its line."""

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
            raise self._error(f"'{self.token.text}' closes a block that was never opened")
        return body

    def _next(self) -> Token:
        """The next token that isn't a comment; comments are kept for their field."""
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
            raise self._error(f"blocks are nested more than {MAX_DEPTH} deep")
        body = Body()
        while self.token.kind is not TokenKind.END and not self._at("}", ">", "]"):
            body.entries.append(self._entry(depth))
        body.closing = self._take_comments()
        while body.closing and not body.closing[-1]:
            body.closing.pop()
        if closing and not self._at(closing):
            raise self._error(f"expected '{closing}', found {self._found_text()}")
        return body

    def _entry(self, depth: int) -> Entry:
        token = self.token
        if token.kind is not TokenKind.BARE or not _NAME.fullmatch(token.text):
            template = f"; {_TEMPLATE}" if token.text[:1] in ("{", "$", "%") else ""
            raise self._error(f"expected the name of a field, found {self._found_text()}{template}")
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
            raise self._error(f"expected ':' or '{{' after '{excerpt(entry.name)}', found {self._found_text()}")
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
            raise self._error(f"expected a value for '{excerpt(entry.name)}', found {self._found_text()}")
        if token.kind is TokenKind.BARE and token.text[0] in "$%@":
            raise self._error(f"'{excerpt(entry.name)}' has {excerpt(token.text)} for a value; {_TEMPLATE}")
        self.last = None if inside else entry
        pieces = [self._piece()]
        while token.kind is TokenKind.STRING and self.token.kind is TokenKind.STRING:  # "a" "b" is one string
            pieces.append(self._piece())
        return Scalar(" ".join(pieces), token.kind is TokenKind.STRING, token.line, token.column)

    def _piece(self) -> str:
        self.last_line = self.token.line + self.token.text.count("\n")
        return self._advance().text

    def _close(self, entry: Entry | None) -> None:
        """Step over a closing brace; a comment after it belongs to the field."""
        self.last, self.last_line = entry, self.token.line
        self._advance()

    def _found_text(self) -> str:
        quote = "" if self.token.kind is TokenKind.STRING else "'"
        return f"{quote}{excerpt(self.token.text)}{quote}" if self.token.text else "the end of the file"

    def _error(self, what: str) -> TextError:
        return TextError(what, where=self.where, line=self.token.line, column=self.token.column)
