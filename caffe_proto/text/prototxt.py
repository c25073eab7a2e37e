"""Reads prototxt, checks it against the schema, and writes it in one layout."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from caffe_proto import caffe_pb2 as pb
from caffe_proto.descriptors import descriptor_of, fields_by_name, fields_of, set_fields
from caffe_proto.dialects import dialect_named, dialect_to_record, mark
from caffe_proto.errors import DialectError, FileError, TextError, UnknownFieldWarning, UnknownNameError
from caffe_proto.storage import write_pieces
from caffe_proto.text.document import Body, Entry, Scalar, excerpt, parse
from caffe_proto.text.scalars import format_value, parse_value, quote, unquote

_MOST_SUGGESTIONS = 100  # looking for a similar name takes long
_WIDTH = 100  # a block that was on one line stays on one line while it fits
_DIALECT_COMMENT = re.compile(r"#\s*dialect:\s*([\w.-]+)\s*")
M = TypeVar("M", bound=Message)
_KINDS: tuple[type[Message], ...] = (
    pb.NetParameter,
    pb.SolverParameter,
    pb.LabelMap,
    pb.SolverState,
    pb.BlobProto,
    pb.LayerParameter,
)


def body_of(data: bytes, where: str) -> Body:
    """Parse the bytes of a file. Bytes that aren't UTF-8 are preserved; they are usually in comments."""
    return parse(data.decode("utf-8", "surrogateescape"), where)


def kind_of(body: Body) -> type[Message]:
    """Return the message type that most of the fields belong to."""
    return max(_KINDS, key=lambda kind: count_fields(body, kind))


def count_fields(body: Body, kind: type[Message]) -> int:
    """Return the number of top-level fields that a message type has."""
    return sum(entry.name in kind.DESCRIPTOR.fields_by_name for entry in body.entries)


def message_of(body: Body, kind: type[M], where: str, lenient: bool = False) -> M:
    """Return the message that the fields of a prototxt describe."""
    message = kind()
    bind(body, message, where=where, lenient=lenient)
    return message


def text_of(message: Message, body: Body | None = None) -> str:
    """Return the prototxt of a message. With `body`, the text keeps the body's order of fields and its comments."""
    return text_of_body(unbind(message) if body is None else _with_dialect(body, message))


def from_text(text: str, kind: type[M], *, where: str = "prototxt", lenient: bool = False) -> M:
    """Parse prototxt into a message."""
    return message_of(parse(text, where), kind, where, lenient)


def reformat(data: bytes, where: str, *, lenient: bool = False) -> bytes:
    """Return the text in the standard layout. It is checked against the schema first."""
    body = body_of(data, where)
    message_of(body, kind_of(body), where, lenient)
    return text_of_body(body).encode("utf-8", "surrogateescape")


def reformat_file(path: str | Path, *, write: bool = True, lenient: bool = False) -> bool:
    """Reformat a file in place and return whether its layout changes. With `write=False`, the file stays as it is."""
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise FileError(f"{path}: can't be opened: {problem.strerror}; check the path and its permissions") from None
    if b"\0" in data:
        raise FileError(
            f"{path}: this is a binary file, but only prototxt can be reformatted; show it with `zoo show {path}`"
        )
    formatted = reformat(data, str(path), lenient=lenient)
    if write and formatted != data:
        write_pieces(path, [formatted])
    return formatted != data


def bind(body: Body, message: Message, *, where: str = "prototxt", lenient: bool = False) -> None:
    """Fill `message` with the fields of `body`.

    With `lenient`, a field or an enum value that the schema doesn't have is skipped with a warning. If a single field
    is set twice, its last value wins.
    """
    _Binder(where, lenient).fill(body, message, (), Entry("", line=1, column=1))


class _Binder:
    """Fills messages, and raises errors with a position in the file."""

    def __init__(self, where: str, lenient: bool) -> None:
        self.where, self.lenient = where, lenient
        self._unknown = set[str]()  # names of unknown fields

    def fill(self, body: Body, message: Message, path: tuple[str, ...], parent: Entry) -> None:
        fields = fields_of(message)
        for entry in body.entries:
            field = fields.get(entry.name)
            if field is None:
                self._refuse_or_skip(entry, self._unknown_field(entry, message, path), path)
                continue
            self._check_single(entry, field, message, path)
            for value in entry.values:
                if isinstance(value, Body):
                    self._fill_message(entry, value, field, message, path)
                else:
                    self._fill_scalar(entry, value, field, message, path)
        for field in fields.values():
            if field.is_required and not message.HasField(field.name):
                raise self._error(
                    parent, f"{path[-1] if path else 'the file'} needs the field '{field.name}'; add it", path
                )
        if isinstance(message, pb.NetParameter):
            self._mark_dialect(body, message)

    def _mark_dialect(self, body: Body, net: pb.NetParameter) -> None:
        name = _find_dialect(body)
        if name is not None:
            try:
                mark(net, [dialect_named(name).name])
            except DialectError as problem:
                first = next(iter(body.entries), Entry("", line=1, column=1))
                raise self._error(first, str(problem), ()) from None

    def _fill_message(
        self, entry: Entry, value: Body, field: FieldDescriptor, message: Message, path: tuple[str, ...]
    ) -> None:
        if field.message_type is None:
            raise self._error(entry, f"'{field.name}' takes a value, but it is followed by a block in braces", path)
        target = getattr(message, field.name)
        if field.is_repeated:
            target = target.add()
        target.SetInParent()
        self.fill(value, target, (*path, _path_step(entry, value)), entry)

    def _fill_scalar(
        self, entry: Entry, value: Scalar, field: FieldDescriptor, message: Message, path: tuple[str, ...]
    ) -> None:
        if field.message_type is not None:
            raise self._error(
                value, f"'{field.name}' takes a block in braces, not the value {excerpt(value.text)}", path
            )
        try:
            parsed = parse_value(value.text, value.quoted, field)
        except LookupError as problem:
            self._refuse_or_skip(
                value, self._error(value, f"{field.name}: {problem.args[0]}", path, UnknownNameError), path
            )
            return
        except ValueError as problem:
            raise self._error(value, f"{field.name}: {problem}", path) from None
        if field.is_repeated:
            getattr(message, field.name).append(parsed)
        else:
            setattr(message, field.name, parsed)

    def _check_single(self, entry: Entry, field: FieldDescriptor, message: Message, path: tuple[str, ...]) -> None:
        if field.is_repeated or self.lenient:
            return
        if message.HasField(field.name) or len(entry.values) > 1:
            raise self._error(
                entry, f"'{field.name}' is set more than once, but it accepts one value; remove the others", path
            )

    def _unknown_field(self, entry: Entry, message: Message, path: tuple[str, ...]) -> TextError:
        self._unknown.add(entry.name)
        near = len(self._unknown) <= _MOST_SUGGESTIONS
        suggestion = _nearest(entry.name, descriptor_of(message)) if near else None
        inside = path[-1] if path else message.DESCRIPTOR.name
        location = "" if " " in inside else f" in {inside}"  # the error itself names a layer
        what = f"unknown field '{excerpt(entry.name)}'{location}" + (
            f"; did you mean {suggestion}?" if suggestion else ""
        )
        return self._error(entry, what, path, UnknownNameError)

    def _refuse_or_skip(self, location: Entry | Scalar, problem: TextError, path: tuple[str, ...]) -> None:
        if not self.lenient:
            raise problem from None
        warnings.warn(f"{problem} (skipped)", UnknownFieldWarning, stacklevel=2)

    def _error(
        self, location: Entry | Scalar, what: str, path: tuple[str, ...], kind: type[TextError] = TextError
    ) -> TextError:
        layer = next((step for step in reversed(path) if " " in step), None)
        return kind(f"{layer}: {what}" if layer else what, where=self.where, line=location.line, column=location.column)


@lru_cache
def _nearest(name: str, descriptor: Descriptor) -> str | None:
    """Return the closest field name. The result is cached because hundreds of layers may contain the same unknown
    name."""
    return next(iter(get_close_matches(name, fields_by_name(descriptor), 1)), None)


def _path_step(entry: Entry, body: Body) -> str:
    """Return one step of a path: the field's name, with the layer's name if the field is a layer."""
    if entry.name not in ("layer", "layers"):
        return entry.name
    names = [value for named in body.named("name") for value in named.values if isinstance(value, Scalar)]
    return f"layer {excerpt(names[0].text).replace(chr(34), chr(39))}" if names else entry.name


def unbind(message: Message) -> Body:
    """Return the fields that are set in a message, in the order of Caffe's own writer. Unknown fields become
    comments."""
    body = Body()
    for field, value in set_fields(message):
        for item in value if field.is_repeated else [value]:
            body.entries.append(_entry_of(field, item))
    unknown = UnknownFieldSet(message)
    body.closing = [f"# unknown field {unknown[index].field_number}" for index in range(len(unknown))]
    return _with_dialect(body, message)


def _with_dialect(body: Body, message: Message) -> Body:
    """Return the fields of a message, with a comment that names a net's dialect if the fields don't show it."""
    name = dialect_to_record(message) if isinstance(message, pb.NetParameter) else None
    return body if name is None else _with_dialect_comment(body, name)


def _entry_of(field: FieldDescriptor, value: object) -> Entry:
    if isinstance(value, Message):
        return Entry(field.name, [unbind(value)])
    assert isinstance(value, (int, float, bool, str, bytes))
    return Entry(field.name, [Scalar(format_value(value, field), isinstance(value, (str, bytes)))])


def _find_dialect(body: Body) -> str | None:
    """Return the dialect that a comment above the first field of a net names, or `None`."""
    return next(iter(_dialect_comments(_top_comments(body))), None)


def _with_dialect_comment(body: Body, name: str) -> Body:
    """Return the fields of a net with exactly one comment that names its dialect."""
    lines = _top_comments(body)
    if _dialect_comments(lines) == [name]:
        return body
    lines = [f"# dialect: {name}", *(line for line in lines if not _DIALECT_COMMENT.fullmatch(line))]
    if not body.entries:
        return replace(body, closing=lines)
    return replace(body, entries=[replace(body.entries[0], leading=lines), *body.entries[1:]])


def _top_comments(body: Body) -> list[str]:
    return body.entries[0].leading if body.entries else body.closing


def _dialect_comments(lines: list[str]) -> list[str]:
    return [match[1] for line in lines if (match := _DIALECT_COMMENT.fullmatch(line))]


def text_of_body(body: Body) -> str:
    """Return the text of a whole file."""
    lines = _block_lines(body, "")
    while lines and not lines[0]:
        del lines[0]
    return "\n".join(lines) + "\n" if lines else ""


def _block_lines(body: Body, indent: str) -> list[str]:
    lines = [line for entry in body.entries for line in _entry_lines(entry, indent)]
    return lines + _comment_lines(body.closing, indent)


def _comment_lines(comments: list[str], indent: str) -> list[str]:
    """Return comment lines with no more than one blank line in a row."""
    return [
        indent + comment if comment else ""
        for before, comment in zip(["#", *comments], comments, strict=False)
        if comment or before
    ]


def _entry_lines(entry: Entry, indent: str) -> list[str]:
    lines = _comment_lines(entry.leading, indent)
    tail = f"  {entry.trailing}" if entry.trailing else ""
    if entry.bracketed and not any(entry.bodies()):
        values = ", ".join(_scalar_text(value) for value in entry.values if isinstance(value, Scalar))
        return [*lines, f"{indent}{entry.name}: [{values}]{tail}"]
    for value in entry.values:
        lines += _value_lines(entry.name, value, indent)
    if tail and lines:
        lines[-1] += tail
    return lines


def _value_lines(name: str, value: Scalar | Body, indent: str) -> list[str]:
    if isinstance(value, Scalar):
        return [f"{indent}{name}: {_scalar_text(value)}"]
    lines = _block_lines(value, indent + "  ")
    if not lines:
        return [f"{indent}{name} {{ }}"]
    line = f"{indent}{name} {{ {' '.join(text.strip() for text in lines if text)} }}"
    if value.one_line and len(line) <= _WIDTH and not any("#" in text for text in lines):
        return [line]
    return [f"{indent}{name} {{", *lines, indent + "}"]


def _scalar_text(value: Scalar) -> str:
    """Return the text of a value. A string gets double quotes; adjacent strings stay separate."""
    if not value.quoted or not value.text.startswith("'"):
        return value.text
    try:
        return quote(unquote(value.text).decode())
    except ValueError:  # the text isn't UTF-8, or it is in a field that was skipped
        return value.text
