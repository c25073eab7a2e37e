"""Dialects: which number each fork of Caffe gives to a field, and nets translated from and to them.

Our own schema has every fork's fields under numbers of its own (see `caffe.proto`). A binary file has its fork's
numbers, so its bytes are renumbered on the way in and out. A dialect is a table in `dialects/NAME.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message

from caffe_proto.descriptors import descriptor_of, enum_of, in_layer
from caffe_proto.errors import BinaryError, DialectError
from caffe_proto.wire import LENGTH, MAX_DEPTH, VARINT, Buffer, Field, fields, read_varint, tag, varint

PRIVATE = 500_000_000  # from here on our numbers mean nothing outside
PRIVATE_VALUE = 1000  # the same of enums
FORKS = 500_000_001  # the first number of the fields that forks add to BVLC's messages
STORED = 536_870_911  # BlobProto.stored, which the pass that handles blobs takes care of

_EMPTY: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Dialect:
    """A fork's numbers where they differ from BVLC's; rank 0 is BVLC itself, then the forks, most used first."""

    name: str
    title: str
    rank: int = 0
    numbers: Mapping[str, Mapping[str, int]] = field(default_factory=dict, repr=False)
    enums: Mapping[str, Mapping[str, int]] = field(default_factory=dict, repr=False)
    _tables: dict[str, dict[int, FieldDescriptor]] = field(default_factory=dict, repr=False)
    _touched: dict[str, bool] = field(default_factory=dict, repr=False)

    def table(self, descriptor: Descriptor) -> dict[int, FieldDescriptor]:
        """What each number of a message means in this dialect."""
        found = self._tables.get(descriptor.full_name)
        if found is None:
            found = {each.number: each for each in descriptor.fields if each.number < PRIVATE}
            by_name = descriptor.fields_by_name
            found |= {number: by_name[name] for name, number in self._own(descriptor).items()}
            self._tables[descriptor.full_name] = found
        return found

    def number(self, descriptor: Descriptor, name: str) -> int | None:
        """The number of a field in this dialect, or None if it has no such field."""
        number = self._own(descriptor).get(name, descriptor.fields_by_name[name].number)
        return number if name == "stored" or self.table(descriptor).get(number, _NOTHING).name == name else None

    def touches(self, descriptor: Descriptor) -> bool:
        """Whether anything in such a message could have another number than ours."""
        known = self._touched.get(descriptor.full_name)
        if known is None:
            self._touched[descriptor.full_name] = known = any(
                any(each.number >= PRIVATE for each in below.fields) or self._own(below) or self._enums_of(below)
                for below in _reachable(descriptor)
            )
        return known

    def values(self, kind: EnumDescriptor | None) -> Mapping[str, int]:
        """The values of an enum that this dialect numbers otherwise."""
        return _EMPTY if kind is None else self.enums.get(_short(kind), _EMPTY)

    def _own(self, descriptor: Descriptor) -> Mapping[str, int]:
        return self.numbers.get(_short(descriptor), _EMPTY)

    def _enums_of(self, descriptor: Descriptor) -> bool:
        return any(self.values(each.enum_type) for each in descriptor.fields)

    def decode(self, data: bytes, descriptor: Descriptor) -> bytes:
        """A message of this dialect in our numbers."""
        return b"".join(_decode(self, data, descriptor, 0))

    def encode(self, data: bytes, descriptor: Descriptor) -> bytes:
        """The inverse of `decode`; a DialectError if the dialect lacks a field that is set."""
        return b"".join(piece for _, piece in _encode(self, data, descriptor))


class _Nothing:
    name = ""


_NOTHING = _Nothing()


def _short(descriptor: Descriptor | EnumDescriptor) -> str:
    return str(descriptor.full_name).partition(".")[2]


@cache
def _reachable(descriptor: Descriptor) -> tuple[Descriptor, ...]:
    """A message and every message below it."""
    found, todo = {descriptor.full_name: descriptor}, [descriptor]
    while todo:
        for each in todo.pop().fields:
            if each.message_type is not None and each.message_type.full_name not in found:
                found[each.message_type.full_name] = each.message_type
                todo.append(each.message_type)
    return tuple(found.values())


def _decode(dialect: Dialect, data: Buffer, descriptor: Descriptor, depth: int) -> Iterator[bytes]:
    if depth > MAX_DEPTH:
        raise BinaryError(f"messages are nested more than {MAX_DEPTH} deep; the file is damaged")
    table = dialect.table(descriptor)
    for part in fields(data):
        known = table.get(part.number)
        if known is None and PRIVATE <= part.number < STORED:
            raise BinaryError(f"field {part.number} of {descriptor.name} can't be in a file; the file is damaged")
        if known is None:
            yield bytes(data[part.start : part.end])
            continue
        value = bytes(data[part.value : part.end])
        if known.message_type is not None and part.kind == LENGTH and dialect.touches(known.message_type):
            value = b"".join(_decode(dialect, value, known.message_type, depth + 1))
        elif known.enum_type is not None and part.kind == VARINT:
            names = {number: name for name, number in dialect.values(known.enum_type).items()}
            value = _renamed(value, names, known.enum_type)
        yield _field(known.number, part, value)


def _renamed(value: bytes, names: Mapping[int, str], kind: EnumDescriptor) -> bytes:
    number, _ = read_varint(value, 0, len(value))
    return varint(kind.values_by_name[names[number]].number) if number in names else value


def _encode(dialect: Dialect, data: bytes, descriptor: Descriptor) -> list[tuple[int, bytes]]:
    """The fields in the dialect's numbers, ordered by them as every Caffe writes them."""
    out = []
    for part in fields(data):
        known = descriptor.fields_by_number.get(part.number)
        if known is None:
            out.append((part.number, data[part.start : part.end]))
            continue
        number = dialect.number(descriptor, known.name)
        if number is None:
            raise DialectError(
                f"dialect '{dialect.name}' has no field '{known.name}' in {descriptor.name}; name another dialect"
            )
        value = data[part.value : part.end]
        if known.message_type is not None and part.kind == LENGTH and dialect.touches(known.message_type):
            value = _encode_below(dialect, value, known.message_type)
        elif known.enum_type is not None and part.kind == VARINT:
            value = _enum_number(dialect, value, known)
        out.append((number, _field(number, part, value)))
    return sorted(out, key=lambda pair: pair[0])


def _encode_below(dialect: Dialect, data: bytes, descriptor: Descriptor) -> bytes:
    try:
        return b"".join(piece for _, piece in _encode(dialect, data, descriptor))
    except DialectError as lacking:
        raise DialectError(in_layer(descriptor, data, 0, len(data)) + str(lacking)) from None


def _enum_number(dialect: Dialect, value: bytes, known: FieldDescriptor) -> bytes:
    number, _ = read_varint(value, 0, len(value))
    named = enum_of(known).values_by_number.get(number)
    renumbered = dialect.values(known.enum_type)
    if named is None or named.name in renumbered:
        return value if named is None else varint(renumbered[named.name])
    if number >= PRIVATE_VALUE or number in renumbered.values():
        raise DialectError(f"dialect '{dialect.name}' has no value '{named.name}' for '{known.name}'")
    return value


def _field(number: int, part: Field, value: bytes) -> bytes:
    length = varint(len(value)) if part.kind == LENGTH else b""
    return tag(number, part.kind) + length + value


BVLC = Dialect("bvlc", "BVLC Caffe")


@cache
def all_dialects() -> Mapping[str, Dialect]:
    """All of them by name, BVLC's first, then by how common they are."""
    found = [BVLC]
    for source in files("caffe_proto").joinpath("dialects").iterdir():
        if source.name.endswith(".toml"):
            table = tomllib.loads(source.read_text())
            name = source.name.removesuffix(".toml")
            found.append(Dialect(name, table["title"], table["rank"], table.get("fields", {}), table.get("enums", {})))
    return {each.name: each for each in sorted(found, key=lambda each: each.rank)}


def dialect_named(name: str) -> Dialect:
    """The dialect of that name."""
    found = all_dialects().get(name)
    if found is None:
        raise DialectError(f"there is no dialect '{name}'; there are {', '.join(all_dialects())}")
    return found


def dialect_for(message: Message) -> Dialect:
    """The most common dialect that has every field that the message sets."""
    data = message.SerializePartialToString()
    problem: DialectError | None = None
    for dialect in all_dialects().values():
        try:
            dialect.encode(data, descriptor_of(message))
        except DialectError as lacking:
            problem = problem or lacking
        else:
            return dialect
    raise DialectError(f"no fork of Caffe has all the fields of this net at once ({problem}); write it as prototxt")
