"""What must hold of a message from a binary file before anybody trusts it."""

from __future__ import annotations

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.blobs import Blobs
from caffe_proto.errors import BinaryError


def check(message: Message, blobs: Blobs) -> None:
    """An error that names the layer if a text isn't text, or a blob's shape and values don't fit."""
    _check(message, blobs, message.DESCRIPTOR.name)


def _check(message: Message, blobs: Blobs, where: str) -> None:
    if isinstance(message, pb.BlobProto):
        blobs.check(message, where)
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for index, below in enumerate(value if field.is_repeated else [value]):
                _check(below, blobs, _name(field.name, index, below, where))
        elif field.type == field.TYPE_STRING:
            for text in value if field.is_repeated else [value]:
                if isinstance(text, bytes):  # what protobuf makes of a string that isn't UTF-8
                    raise BinaryError(f"{where}: its {field.name} {text[:40]!r} is not UTF-8 text; the file is damaged")


def _name(field: str, index: int, message: Message, above: str) -> str:
    if isinstance(message, (pb.LayerParameter, pb.V1LayerParameter)):
        inner = message.layer if isinstance(message, pb.V1LayerParameter) else message
        name = message.name or inner.name
        return f"layer {name[:100]!r}" if name else f"layer {index}"
    if isinstance(message, pb.BlobProto):
        return f"{above}, {'blob' if field == 'blobs' else field} {index}"
    return above
