"""What must hold of a message from a binary file before anybody trusts it."""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.blobs import Blobs
from caffe_proto.errors import BinaryError


def check(message: Message, blobs: Blobs) -> None:
    """An error that names the layer if a text isn't text, or a blob's shape and values don't fit."""
    for where, below in _walk(message, message.DESCRIPTOR.name):
        for name, value in _texts(below):
            if isinstance(value, bytes):
                raise BinaryError(f"{where}: its {name} {value[:40]!r} is not UTF-8 text; the file is damaged")
        if isinstance(below, pb.BlobProto):
            blobs.check(below, where)


def _walk(message: Message, where: str) -> Iterator[tuple[str, Message]]:
    """The message and everything below it, each with what people call it."""
    yield where, message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for index, below in enumerate(value if field.is_repeated else [value]):
                yield from _walk(below, _name(field.name, index, below, where))


def _name(field: str, index: int, message: Message, above: str) -> str:
    if isinstance(message, (pb.LayerParameter, pb.V1LayerParameter)):
        inner = message.layer if isinstance(message, pb.V1LayerParameter) else message
        return f"layer {(message.name or inner.name)!r}" if message.name or inner.name else f"layer {index}"
    if isinstance(message, pb.BlobProto):
        return f"{above}, {'blob' if field == 'blobs' else field} {index}"
    return above


def _texts(message: Message) -> Iterator[tuple[str, str | bytes]]:
    """Strings directly in the message; protobuf hands out those that aren't text as bytes."""
    for field, value in message.ListFields():
        if field.type == field.TYPE_STRING:
            for text in value if field.is_repeated else [value]:
                yield field.name, text
