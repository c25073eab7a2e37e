"""From the fields of a prototxt to a message, checked against the schema."""

from __future__ import annotations

import warnings
from difflib import get_close_matches
from functools import lru_cache

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from caffe_proto.descriptors import descriptor_of, fields_of
from caffe_proto.errors import TextError, UnknownFieldWarning, UnknownNameError
from caffe_proto.text.document import Body, Entry, Scalar
from caffe_proto.text.lexer import shown
from caffe_proto.text.scalars import value_of


def bind(body: Body, message: Message, *, where: str = "prototxt", lenient: bool = False) -> None:
    """Fill `message` from `body`.

    With `lenient`, a field or an enum value that the schema doesn't have is skipped with a warning, and of a single
    field that is given twice the last one counts.
    """
    _Binder(where, lenient).fill(body, message, (), Entry("", line=1, column=1))


class _Binder:
    """Knows where in the file it is, so that an error can say so."""

    def __init__(self, where: str, lenient: bool) -> None:
        self.where, self.lenient = where, lenient

    def fill(self, body: Body, message: Message, path: tuple[str, ...], above: Entry) -> None:
        fields = fields_of(message)
        for entry in body.entries:
            field = fields.get(entry.name)
            if field is None or field.name == "stored":
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
                raise self._error(above, f"{path[-1] if path else 'the file'} needs the field '{field.name}'", path)

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
            raise self._error(value, f"'{field.name}' takes a block in braces, not the value {shown(value.text)}", path)
        try:
            found = value_of(value.text, value.quoted, field)
        except LookupError as problem:
            self._unknown(value, self._error(value, f"{field.name}: {problem.args[0]}", path, UnknownNameError), path)
            return
        except ValueError as problem:
            raise self._error(value, f"{field.name}: {problem}", path) from None
        if field.is_repeated:
            getattr(message, field.name).append(found)
        else:
            setattr(message, field.name, found)

    def _check_single(self, entry: Entry, field: FieldDescriptor, message: Message, path: tuple[str, ...]) -> None:
        if field.is_repeated or self.lenient:
            return
        if message.HasField(field.name) or len(entry.values) > 1:
            raise self._error(entry, f"'{field.name}' is given more than once, and takes one value", path)

    def _unknown_field(self, entry: Entry, message: Message, path: tuple[str, ...]) -> TextError:
        near = _nearest(entry.name, descriptor_of(message))
        inside = path[-1] if path else message.DESCRIPTOR.name
        place = "" if " " in inside else f" in {inside}"  # a layer is named by the error itself
        what = f"unknown field '{shown(entry.name)}'{place}" + (f"; did you mean {near}?" if near else "")
        return self._error(entry, what, path, UnknownNameError)

    def _unknown(self, place: Entry | Scalar, problem: TextError, path: tuple[str, ...]) -> None:
        if not self.lenient:
            raise problem from None
        warnings.warn(f"{problem} (skipped)", UnknownFieldWarning, stacklevel=2)

    def _error(
        self, place: Entry | Scalar, what: str, path: tuple[str, ...], kind: type[TextError] = TextError
    ) -> TextError:
        layer = next((step for step in reversed(path) if " " in step), None)
        return kind(f"{layer}: {what}" if layer else what, where=self.where, line=place.line, column=place.column)


@lru_cache
def _nearest(name: str, descriptor: Descriptor) -> str | None:
    """The field that was probably meant. Kept, because whoever is lenient may meet one name in hundreds of layers."""
    names = [known for known in descriptor.fields_by_name if known != "stored"]
    return next(iter(get_close_matches(name, names, 1)), None)


def _label(entry: Entry, body: Body) -> str:
    """A step of the path: the field's name, and for a layer also what it is called."""
    if entry.name not in ("layer", "layers"):
        return entry.name
    names = [value for named in body.named("name") for value in named.values if isinstance(value, Scalar)]
    return f"layer {shown(names[0].text).replace(chr(34), chr(39))}" if names else entry.name
