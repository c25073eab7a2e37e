"""The dialects that a net may be in. Its layers are marked with them, and the marks go along as their places do.

Forks give one name to different things, so what a layer computes can depend on the fork that its net is for. Who opens
a net marks it with the dialect that was said, that the file says, or those that its fields leave.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.descriptors import descriptor_of, enum_of, set_fields
from caffe_proto.dialects import LAYER_TYPES, PRIVATE, PRIVATE_VALUE, all_dialects, schema_name


def mark(net: pb.NetParameter, dialects: Sequence[str]) -> None:
    """Mark all layers of a net with the dialects that it may be in."""
    for layer in _layers(net):
        layer.dialects[:] = dialects


def marks_of(net: pb.NetParameter) -> tuple[str, ...]:
    """The dialects that a net is marked with; none if nothing is known."""
    return next((tuple(layer.dialects) for layer in _layers(net) if layer.dialects), ())


def _layers(net: pb.NetParameter) -> Iterator[pb.LayerParameter | pb.V1LayerParameter]:
    yield from net.layer
    yield from net.layers


def mark_by_fields(net: pb.NetParameter) -> None:
    """Mark a net that nobody marked yet with the dialects that have all its fields."""
    if not marks_of(net):
        mark(net, possible_dialects(net))


def said_dialect(net: pb.NetParameter) -> str | None:
    """The dialect that a net is marked with where its fields wouldn't tell it; who writes the net has to say it."""
    marks = marks_of(net)
    return marks[0] if len(marks) == 1 and possible_dialects(net) != marks else None


def possible_dialects(message: Message) -> tuple[str, ...]:
    """The names of the dialects that have every field and value which a message sets; none if BVLC's is among them.

    A message with fields of several forks that nobody has together is in no dialect, which tells nothing either.
    """
    telling = set(_telling_names(message, of_forks=False))
    if not telling:
        return ()
    return tuple(name for name, dialect in all_dialects().items() if telling <= dialect.additions)


def _telling_names(message: Message, *, of_forks: bool) -> Iterator[tuple[str, str]]:
    """The fields, values and types of layers that BVLC's Caffe hasn't. In a message `of_forks` it has none."""
    if isinstance(message, pb.LayerParameter) and message.type in _telling_types():
        yield LAYER_TYPES, message.type
    for field, value in set_fields(message):
        is_new = of_forks or field.number >= PRIVATE
        if is_new:
            yield schema_name(descriptor_of(message)), field.name
        if field.message_type is not None and field.name != "blobs":
            for submessage in value if field.is_repeated else [value]:
                yield from _telling_names(submessage, of_forks=field.message_type.full_name not in _messages_of_bvlc())
        elif field.enum_type is not None:
            names = enum_of(field).values_by_number
            for number in value if field.is_repeated else [value]:
                if number >= PRIVATE_VALUE and number in names:
                    yield schema_name(enum_of(field)), names[number].name


@cache
def _telling_types() -> frozenset[str]:
    return frozenset(name for dialect in all_dialects().values() for name in dialect.layer_types)


def fork_settings(message: Message) -> Iterator[str]:
    """The names of the fields and values that a message sets and that BVLC's Caffe hasn't."""
    for field, value in set_fields(message):
        if field.number >= PRIVATE:
            yield field.name
        elif field.message_type is not None and field.name != "blobs":
            for submessage in value if field.is_repeated else [value]:
                yield from fork_settings(submessage)
        elif field.enum_type is not None:
            names = enum_of(field).values_by_number
            numbers = value if field.is_repeated else [value]
            yield from (names[number].name for number in numbers if number >= PRIVATE_VALUE and number in names)


@cache
def _messages_of_bvlc() -> frozenset[str]:
    """All messages that are reached by fields of BVLC's."""
    names, pending = set[str](), [descriptor_of(pb.NetParameter)]
    while pending:
        descriptor = pending.pop()
        if descriptor.full_name not in names:
            names.add(descriptor.full_name)
            members = (field.message_type for field in descriptor.fields if field.number < PRIVATE)
            pending += [member for member in members if member is not None]
    return frozenset(names)
