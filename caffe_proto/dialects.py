"""Translates messages to and from dialects, the field numbers of each fork of Caffe, and finds the dialects of a net.

The schema in `caffe.proto` gives every fork's fields unique numbers. A binary file contains its fork's numbers, so its
bytes are renumbered when it is read and written. A dialect is a table in `dialects/NAME.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property, wraps
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any, ParamSpec, Self, TypeVar

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.descriptors import IN_MEMORY, NET_DIALECT, descriptor_of, enum_of, layer_prefix, set_fields
from caffe_proto.errors import BinaryError, DialectError
from caffe_proto.extensions import finders
from caffe_proto.wire import LENGTH, MAX_DEPTH, VARINT, Buffer, Field, fields, read_varint, tag, varint

PRIVATE = 500_000_000  # field numbers from here on are private to this schema and never in a file
PRIVATE_VALUE = 1000  # enum values from here on are private to this schema
FORKS = 500_000_001  # the first number of the fields that forks add to BVLC's messages
LAYER_TYPES = "types of layers"  # stands for the owner of layer types among a dialect's additions
STORED = 536_870_911  # BlobProto.stored, which caffe_proto.binary adds and removes

_EMPTY: Mapping[str, int] = MappingProxyType({})

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Dialect:
    """The numbers of a fork where they differ from BVLC's.

    Rank 0 is BVLC itself. The forks follow, the most common first.
    """

    name: str
    title: str
    rank: int = 0
    numbers: Mapping[str, Mapping[str, int]] = field(default_factory=dict, repr=False)
    enums: Mapping[str, Mapping[str, int]] = field(default_factory=dict, repr=False)
    layer_types: tuple[str, ...] = ()  # types that identify a net of this fork if its fields don't
    _tables: dict[str, dict[int, FieldDescriptor]] = field(default_factory=dict, repr=False)
    _touched: dict[str, bool] = field(default_factory=dict, repr=False)

    def table(self, descriptor: Descriptor) -> dict[int, FieldDescriptor]:
        """Return the fields of a message by their numbers in this dialect."""
        fields_by_number = self._tables.get(descriptor.full_name)
        if fields_by_number is None:
            fields_by_number = {field.number: field for field in descriptor.fields if _is_in_all(field)}
            by_name = descriptor.fields_by_name
            fields_by_number |= {number: by_name[name] for name, number in self._field_numbers(descriptor).items()}
            self._tables[descriptor.full_name] = fields_by_number
        return fields_by_number

    def number(self, descriptor: Descriptor, name: str) -> int | None:
        """Return the number of a field in this dialect, or `None` if the dialect doesn't have the field."""
        number = self._field_numbers(descriptor).get(name, descriptor.fields_by_name[name].number)
        return number if name == "stored" or self.table(descriptor).get(number, _NO_FIELD).name == name else None

    def touches(self, descriptor: Descriptor) -> bool:
        """Return whether this dialect uses other numbers than the schema anywhere inside a message type."""
        touched = self._touched.get(descriptor.full_name)
        if touched is None:
            self._touched[descriptor.full_name] = touched = any(
                any(field.number >= PRIVATE for field in submessage.fields)
                or self._field_numbers(submessage)
                or self._renumbers_enum(submessage)
                for submessage in _reachable(descriptor)
            )
        return touched

    @cached_property
    def additions(self) -> frozenset[tuple[str, str]]:
        """The names that the fork added: fields with their messages, values with their enums, and types of layers."""
        tables = (*self.numbers.items(), *self.enums.items(), (LAYER_TYPES, self.layer_types))
        return frozenset((owner, name) for owner, names in tables for name in names)

    def values(self, kind: EnumDescriptor | None) -> Mapping[str, int]:
        """Return the values of an enum that have other numbers in this dialect, by name."""
        return _EMPTY if kind is None else self.enums.get(schema_name(kind), _EMPTY)

    def value(self, schema_field: FieldDescriptor, number: int) -> int | None:
        """Return the number of an enum field's value in this dialect, or `None` if the dialect doesn't have the value.
        Unknown values keep their numbers."""
        enum_value = enum_of(schema_field).values_by_number.get(number)
        renumbered = self.values(schema_field.enum_type)
        if enum_value is None:
            return number
        if enum_value.name in renumbered:
            return renumbered[enum_value.name]
        return None if number >= PRIVATE_VALUE or number in renumbered.values() else number

    def _field_numbers(self, descriptor: Descriptor) -> Mapping[str, int]:
        return self.numbers.get(schema_name(descriptor), _EMPTY)

    def _renumbers_enum(self, descriptor: Descriptor) -> bool:
        kinds = filter(None, (field.enum_type for field in descriptor.fields))
        return any(self.values(kind) or any(value.number >= PRIVATE_VALUE for value in kind.values) for kind in kinds)

    def decode(self, data: bytes, descriptor: Descriptor) -> bytes:
        """Translate an encoded message of this dialect to the schema's numbers."""
        return b"".join(_decoded_pieces(self, data, descriptor, 0))

    def encode(self, data: bytes, descriptor: Descriptor) -> bytes:
        """Translate an encoded message to this dialect. Raises a `DialectError` if the dialect lacks a field that is
        set."""
        return b"".join(piece for _, piece in _encoded_fields(self, data, descriptor))


class _NoField:
    name = ""


_NO_FIELD = _NoField()


def _is_in_all(field: FieldDescriptor) -> bool:
    return field.number < PRIVATE or field.number == NET_DIALECT


def schema_name(descriptor: Descriptor | EnumDescriptor) -> str:
    """Return the name of a message or an enum as dialects write it, without the package."""
    return str(descriptor.full_name).partition(".")[2]


@cache
def _reachable(descriptor: Descriptor) -> tuple[Descriptor, ...]:
    """Return a message type and every message type that it contains."""
    descriptors, pending = {descriptor.full_name: descriptor}, [descriptor]
    while pending:
        for member in pending.pop().fields:
            if member.message_type is not None and member.message_type.full_name not in descriptors:
                descriptors[member.message_type.full_name] = member.message_type
                pending.append(member.message_type)
    return tuple(descriptors.values())


def _decoded_pieces(dialect: Dialect, data: Buffer, descriptor: Descriptor, depth: int) -> Iterator[bytes]:
    if depth > MAX_DEPTH:
        raise BinaryError(
            f"messages are nested more than {MAX_DEPTH} deep; the file is damaged, so download or copy it again"
        )
    table = dialect.table(descriptor)
    for wire_field in fields(data):
        schema_field = table.get(wire_field.number)
        if schema_field is None and PRIVATE <= wire_field.number < STORED:
            raise BinaryError(
                f"field {wire_field.number} of {descriptor.name} can't be in a file; the file is damaged, so "
                "download or copy it again"
            )
        if schema_field is None:
            yield bytes(data[wire_field.start : wire_field.end])
            continue
        value = bytes(data[wire_field.value : wire_field.end])
        if (
            schema_field.message_type is not None
            and wire_field.kind == LENGTH
            and dialect.touches(schema_field.message_type)
        ):
            value = b"".join(_decoded_pieces(dialect, value, schema_field.message_type, depth + 1))
        elif schema_field.enum_type is not None and wire_field.kind == VARINT:
            names = {number: name for name, number in dialect.values(schema_field.enum_type).items()}
            value = _renamed(value, names, schema_field.enum_type)
        yield _encoded_field(schema_field.number, wire_field, value)


def _renamed(value: bytes, names: Mapping[int, str], kind: EnumDescriptor) -> bytes:
    number, _ = read_varint(value, 0, len(value))
    return varint(kind.values_by_name[names[number]].number) if number in names else value


def _encoded_fields(dialect: Dialect, data: bytes, descriptor: Descriptor) -> list[tuple[int, bytes]]:
    """Return the encoded fields under the dialect's numbers, sorted by number as every Caffe writes them."""
    encoded = []
    for wire_field in fields(data):
        schema_field = descriptor.fields_by_number.get(wire_field.number)
        if schema_field is None:
            encoded.append((wire_field.number, data[wire_field.start : wire_field.end]))
            continue
        if schema_field.number in IN_MEMORY:
            continue
        number = dialect.number(descriptor, schema_field.name)
        if number is None:
            raise DialectError(
                f"dialect '{dialect.name}' doesn't have the field '{schema_field.name}' in {descriptor.name}; "
                "remove the field, or write a .prototxt"
            )
        value = data[wire_field.value : wire_field.end]
        if (
            schema_field.message_type is not None
            and wire_field.kind == LENGTH
            and dialect.touches(schema_field.message_type)
        ):
            value = _encode_below(dialect, value, schema_field.message_type)
        elif schema_field.enum_type is not None and wire_field.kind == VARINT:
            value = _enum_number(dialect, value, schema_field)
        encoded.append((number, _encoded_field(number, wire_field, value)))
    return sorted(encoded, key=lambda pair: pair[0])


def _encode_below(dialect: Dialect, data: bytes, descriptor: Descriptor) -> bytes:
    try:
        return b"".join(piece for _, piece in _encoded_fields(dialect, data, descriptor))
    except DialectError as problem:
        raise DialectError(layer_prefix(descriptor, data, 0, len(data)) + str(problem)) from None


def _enum_number(dialect: Dialect, value: bytes, schema_field: FieldDescriptor) -> bytes:
    number, _ = read_varint(value, 0, len(value))
    encoded = dialect.value(schema_field, number)
    if encoded is None:
        raise DialectError(
            f"dialect '{dialect.name}' doesn't have the value "
            f"'{enum_of(schema_field).values_by_number[number].name}' for '{schema_field.name}'; "
            "use another value, or write a .prototxt"
        )
    return value if encoded == number else varint(encoded)


def _encoded_field(number: int, wire_field: Field, value: bytes) -> bytes:
    length = varint(len(value)) if wire_field.kind == LENGTH else b""
    return tag(number, wire_field.kind) + length + value


BVLC = Dialect("bvlc", "BVLC Caffe")


_registered: dict[str, tuple[Path, Mapping[str, Any]]] = {}  # third-party tables by dialect name
_forget: list[Callable[[], None]] = []  # functions that clear results which depend on the set of dialects


def of_dialects(function: Callable[P, T]) -> Callable[P, T]:
    """Cache a function whose results depend on the set of dialects. The cache is cleared when the set changes."""
    cached = cache(function)
    _forget.append(cached.cache_clear)

    @wraps(function)
    def call(*arguments: P.args, **settings: P.kwargs) -> T:
        for find in finders:
            find()
        return cached(*arguments, **settings)  # type: ignore[arg-type]

    return call


@of_dialects
def all_dialects() -> Mapping[str, Dialect]:
    """Return all dialects by name: BVLC's, then the forks' from the most common on, then third-party dialects."""
    own = _own_dialects()
    others = (_of_table(name, table, rank) for rank, (name, (_, table)) in enumerate(_registered.items(), len(own)))
    return {**own, **{dialect.name: dialect for dialect in others}}


@cache
def _own_dialects() -> Mapping[str, Dialect]:
    sources = [
        source for source in files("caffe_proto").joinpath("dialects").iterdir() if source.name.endswith(".toml")
    ]
    tables = {source.name.removesuffix(".toml"): tomllib.loads(source.read_text()) for source in sources}
    dialects = [BVLC, *(_of_table(name, table, table["rank"]) for name, table in tables.items())]
    return {dialect.name: dialect for dialect in sorted(dialects, key=lambda dialect: dialect.rank)}


def _of_table(name: str, table: Mapping[str, Any], rank: int) -> Dialect:
    types = tuple(table.get("layer_types", ()))
    return Dialect(name, table["title"], rank, table.get("fields", {}), table.get("enums", {}), types)


def register_dialect(path: str | Path) -> None:
    """Register the dialect whose table is in NAME.toml. It ranks after all other dialects.

    A table that is registered again is read again.
    """
    path = Path(path)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise DialectError(
            f"{path}: can't be read: {problem}; write a TOML file as in docs/extend_dialect.md"
        ) from None
    taken = _registered[path.stem][0] if path.stem in _registered else None
    if path.stem in _own_dialects() or taken not in (None, path):
        owner = taken or "caffe_proto"
        raise DialectError(
            f"{path}: {owner} already defines a dialect '{path.stem}'; rename the file, whose name is the dialect's"
        )
    _check_table(path, table)
    _registered[path.stem] = path, table
    _forget_all()


def unregister_dialect(name: str) -> None:
    """Remove a dialect that was registered."""
    del _registered[name]
    _forget_all()


def _forget_all() -> None:
    for forget in _forget:
        forget()


def registered_tables() -> dict[str, Path]:
    """Return the path of each third-party table by dialect name."""
    return {name: path for name, (path, _) in _registered.items()}


def _check_table(path: Path, table: Mapping[str, Any]) -> None:
    """Raise a `DialectError` unless a table has a title and its names are in the schema."""
    if not isinstance(table.get("title"), str):
        raise DialectError(f'{path}: the title is missing; add one, such as title = "Display name"')
    pool, package = pb.DESCRIPTOR.pool, pb.DESCRIPTOR.package
    for section, find, members in (
        ("fields", pool.FindMessageTypeByName, "fields_by_name"),
        ("enums", pool.FindEnumTypeByName, "values_by_name"),
    ):
        for owner, numbers in table.get(section, {}).items():
            with suppress(KeyError):
                if set(numbers).issubset(getattr(find(f"{package}.{owner}"), members)):
                    continue
            raise DialectError(
                f"{path}: the schema doesn't have all of these names in {owner}: {', '.join(numbers)}; use "
                "names of caffe_proto/caffe.proto, or remove them"
            )


def dialect_named(name: str) -> Dialect:
    """Return the dialect with a name. Raises a `DialectError` if there is none."""
    dialect = all_dialects().get(name)
    if dialect is None:
        raise DialectError(f"there is no dialect '{name}'; choose one of {', '.join(all_dialects())}")
    return dialect


def dialect_for(message: Message) -> Dialect:
    """Return the most common dialect that has every field that the message sets."""
    data, descriptor = message.SerializePartialToString(), descriptor_of(message)
    uses = Uses.of(data, descriptor)
    for dialect in all_dialects().values():
        if uses.fit(dialect):
            return dialect
    try:
        BVLC.encode(data, descriptor)
    except DialectError as problem:
        raise DialectError(
            f"no fork of Caffe has all the fields of this net ({problem}); write a .prototxt, or define a dialect "
            "as in docs/extend_dialect.md"
        ) from None
    raise AssertionError("BVLC Caffe has all fields, but doesn't fit")


class Uses:
    """The fields and the enum values that a message sets, which its dialect must have."""

    def __init__(self) -> None:
        self._fields = set[tuple[Descriptor, str]]()
        self._values = set[tuple[FieldDescriptor, int]]()

    @classmethod
    def of(cls, data: bytes, descriptor: Descriptor) -> Self:
        """Return what an encoded message uses."""
        uses = cls()
        uses._note(data, descriptor)
        return uses

    def fit(self, dialect: Dialect) -> bool:
        """Return whether a dialect has all of this."""
        return all(dialect.number(owner, name) is not None for owner, name in self._fields) and all(
            dialect.value(schema_field, number) is not None for schema_field, number in self._values
        )

    def _note(self, data: bytes, descriptor: Descriptor) -> None:
        known = descriptor.fields_by_number
        for wire_field in fields(data):
            schema_field = known.get(wire_field.number)
            if schema_field is None or schema_field.number in IN_MEMORY:
                continue
            self._fields.add((descriptor, schema_field.name))
            kind = schema_field.message_type
            if kind is not None and wire_field.kind == LENGTH and _is_touched(kind):
                self._note(data[wire_field.value : wire_field.end], kind)
            elif schema_field.enum_type is not None and wire_field.kind == VARINT:
                self._values.add((schema_field, read_varint(data, wire_field.value, wire_field.end)[0]))


@of_dialects
def _is_touched(descriptor: Descriptor) -> bool:
    return any(dialect.touches(descriptor) for dialect in all_dialects().values())


def mark(net: pb.NetParameter, dialects: Sequence[str]) -> None:
    """Mark all layers of a net with the dialects that the net may be in."""
    for layer in _layers_of(net):
        layer.dialects[:] = dialects


def marks_of(net: pb.NetParameter) -> tuple[str, ...]:
    """Return the dialects that a net is marked with. The result is empty if none are known."""
    return next((tuple(layer.dialects) for layer in _layers_of(net) if layer.dialects), ())


def _layers_of(net: pb.NetParameter) -> Iterator[pb.LayerParameter | pb.V1LayerParameter]:
    yield from net.layer
    yield from net.layers


def mark_by_fields(net: pb.NetParameter) -> None:
    """Mark a net with the dialects that have all its fields, unless it is already marked."""
    if not marks_of(net):
        mark(net, possible_dialects(net))


def dialect_to_record(net: pb.NetParameter) -> str | None:
    """Return the dialect that a writer must record because the net's fields don't show it, or `None`."""
    marks = marks_of(net)
    return marks[0] if len(marks) == 1 and possible_dialects(net) != marks else None


def possible_dialects(message: Message) -> tuple[str, ...]:
    """Return the names of the dialects that have every field and value that a message sets.

    The result is empty if BVLC's dialect is among them. It is also empty if the message mixes fields of several forks.
    """
    fork_names = set(_fork_names(message, of_forks=False))
    if not fork_names:
        return ()
    return tuple(name for name, dialect in all_dialects().items() if fork_names <= dialect.additions)


def missing_in(message: Message, dialect: Dialect) -> list[str]:
    """Return the names of the fields, values and layer types in a message that a dialect doesn't have."""
    return [name for owner, name in _fork_names(message, of_forks=False) if (owner, name) not in dialect.additions]


def _fork_names(message: Message, *, of_forks: bool) -> Iterator[tuple[str, str]]:
    """Yield the fields, values and layer types that BVLC's Caffe doesn't have.

    With `of_forks`, the message itself is a fork's, so all its fields count.
    """
    if isinstance(message, pb.LayerParameter) and message.type in _fork_layer_types():
        yield LAYER_TYPES, message.type
    for schema_field, value in set_fields(message):
        is_new = of_forks or schema_field.number >= PRIVATE
        if is_new:
            yield schema_name(descriptor_of(message)), schema_field.name
        if schema_field.message_type is not None and schema_field.name != "blobs":
            for submessage in value if schema_field.is_repeated else [value]:
                yield from _fork_names(
                    submessage, of_forks=schema_field.message_type.full_name not in _messages_of_bvlc()
                )
        elif schema_field.enum_type is not None:
            names = enum_of(schema_field).values_by_number
            for number in value if schema_field.is_repeated else [value]:
                if number >= PRIVATE_VALUE and number in names:
                    yield schema_name(enum_of(schema_field)), names[number].name


@of_dialects
def _fork_layer_types() -> frozenset[str]:
    return frozenset(name for dialect in all_dialects().values() for name in dialect.layer_types)


def fork_settings(message: Message) -> Iterator[str]:
    """Yield the names of the fields and values that a message sets and that BVLC's Caffe doesn't have."""
    for schema_field, value in set_fields(message):
        if schema_field.number >= PRIVATE:
            yield schema_field.name
        elif schema_field.message_type is not None and schema_field.name != "blobs":
            for submessage in value if schema_field.is_repeated else [value]:
                yield from fork_settings(submessage)
        elif schema_field.enum_type is not None:
            names = enum_of(schema_field).values_by_number
            numbers = value if schema_field.is_repeated else [value]
            yield from (names[number].name for number in numbers if number >= PRIVATE_VALUE and number in names)


@cache
def _messages_of_bvlc() -> frozenset[str]:
    """Return the names of all messages that BVLC's fields reach."""
    names, pending = set[str](), [descriptor_of(pb.NetParameter)]
    while pending:
        descriptor = pending.pop()
        if descriptor.full_name not in names:
            names.add(descriptor.full_name)
            members = (schema_field.message_type for schema_field in descriptor.fields if schema_field.number < PRIVATE)
            pending += [member for member in members if member is not None]
    return frozenset(names)
