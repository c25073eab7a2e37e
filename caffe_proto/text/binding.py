"""Conversion between the fields of a prototxt and a message, checked against the schema."""

from __future__ import annotations

import warnings
from difflib import get_close_matches
from functools import lru_cache

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from caffe_proto import caffe_pb2 as pb
from caffe_proto.descriptors import descriptor_of, fields_by_name, fields_of, set_fields
from caffe_proto.dialects import dialect_named
from caffe_proto.errors import DialectError, TextError, UnknownFieldWarning, UnknownNameError
from caffe_proto.net_dialect import mark, said_dialect
from caffe_proto.text.dialect_comment import find_dialect, say_dialect
from caffe_proto.text.document import Body, Entry, Scalar
from caffe_proto.text.lexer import excerpt
from caffe_proto.text.scalars import format_value, parse_value


def bind(body: Body, message: Message, *, where: str = "prototxt", lenient: bool = False) -> None:
    """Fill `message` with the fields of `body`.

    With `lenient`, a field or an enum value that the schema doesn't have is skipped with a warning, and the last
    value of a single field that is set twice counts.
    """
    _Binder(where, lenient).fill(body, message, (), Entry("", line=1, column=1))


class _Binder:
    """Fills messages and raises errors that say where in the file they occurred."""

    def __init__(self, where: str, lenient: bool) -> None:
        self.where, self.lenient = where, lenient

    def fill(self, body: Body, message: Message, path: tuple[str, ...], parent: Entry) -> None:
        fields = fields_of(message)
        for entry in body.entries:
            field = fields.get(entry.name)
            if field is None:
                self._unknown(entry, self._unknown_field(entry, message, path), path)
                continue
            self._check_single(entry, field, message, path)
            for value in entry.values:
                if isinstance(value, Body):
                    self._message(entry, value, field, message, path)
                else:
                    self._scalar(entry, value, field, message, path)
        for field in fields.values():
            if field.is_required and not message.HasField(field.name):
                raise self._error(parent, f"{path[-1] if path else 'the file'} needs the field '{field.name}'", path)
        if isinstance(message, pb.NetParameter):
            self._mark(body, message)

    def _mark(self, body: Body, net: pb.NetParameter) -> None:
        name = find_dialect(body)
        if name is not None:
            try:
                mark(net, [dialect_named(name).name])
            except DialectError as problem:
                first = next(iter(body.entries), Entry("", line=1, column=1))
                raise self._error(first, str(problem), ()) from None

    def _message(
        self, entry: Entry, value: Body, field: FieldDescriptor, message: Message, path: tuple[str, ...]
    ) -> None:
        if field.message_type is None:
            raise self._error(entry, f"'{field.name}' takes a value, not a block in braces", path)
        target = getattr(message, field.name)
        if field.is_repeated:
            target = target.add()
        target.SetInParent()
        self.fill(value, target, (*path, _label(entry, value)), entry)

    def _scalar(
        self, entry: Entry, value: Scalar, field: FieldDescriptor, message: Message, path: tuple[str, ...]
    ) -> None:
        if field.message_type is not None:
            raise self._error(
                value, f"'{field.name}' takes a block in braces, not the value {excerpt(value.text)}", path
            )
        try:
            parsed = parse_value(value.text, value.quoted, field)
        except LookupError as problem:
            self._unknown(value, self._error(value, f"{field.name}: {problem.args[0]}", path, UnknownNameError), path)
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
            raise self._error(entry, f"'{field.name}' is given more than once, and takes one value", path)

    def _unknown_field(self, entry: Entry, message: Message, path: tuple[str, ...]) -> TextError:
        suggestion = _nearest(entry.name, descriptor_of(message))
        inside = path[-1] if path else message.DESCRIPTOR.name
        location = "" if " " in inside else f" in {inside}"  # a layer is named by the error itself
        what = f"unknown field '{excerpt(entry.name)}'{location}" + (
            f"; did you mean {suggestion}?" if suggestion else ""
        )
        return self._error(entry, what, path, UnknownNameError)

    def _unknown(self, location: Entry | Scalar, problem: TextError, path: tuple[str, ...]) -> None:
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
    """The closest field name. It is cached because one unknown name may be in hundreds of layers."""
    return next(iter(get_close_matches(name, fields_by_name(descriptor), 1)), None)


def _label(entry: Entry, body: Body) -> str:
    """One step of a path: the field's name, or for a layer also the layer's name."""
    if entry.name not in ("layer", "layers"):
        return entry.name
    names = [value for named in body.named("name") for value in named.values if isinstance(value, Scalar)]
    return f"layer {excerpt(names[0].text).replace(chr(34), chr(39))}" if names else entry.name


def unbind(message: Message) -> Body:
    """The fields that are set in a message, in the order of Caffe's own writer; unknown fields become comments."""
    body = Body()
    for field, value in set_fields(message):
        for item in value if field.is_repeated else [value]:
            body.entries.append(_entry_of(field, item))
    unknown = UnknownFieldSet(message)
    body.closing = [f"# unknown field {unknown[index].field_number}" for index in range(len(unknown))]
    return with_dialect(body, message)


def with_dialect(body: Body, message: Message) -> Body:
    """The fields of a message, with the comment that says the dialect of a net if the fields don't tell it."""
    name = said_dialect(message) if isinstance(message, pb.NetParameter) else None
    return body if name is None else say_dialect(body, name)


def _entry_of(field: FieldDescriptor, value: object) -> Entry:
    if isinstance(value, Message):
        return Entry(field.name, [unbind(value)])
    assert isinstance(value, (int, float, bool, str, bytes))
    return Entry(field.name, [Scalar(format_value(value, field), isinstance(value, (str, bytes)))])
