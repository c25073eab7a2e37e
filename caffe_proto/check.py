"""Checks on a message from a binary file before it is trusted."""

from __future__ import annotations

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.blobs import Blobs
from caffe_proto.errors import BinaryError


def check_message(message: Message, blobs: Blobs) -> None:
    """Raise an error that names the layer if a text isn't UTF-8, or a blob's shape and values don't fit."""
    _check(message, blobs, message.DESCRIPTOR.name)


def _check(message: Message, blobs: Blobs, where: str) -> None:
    if isinstance(message, pb.BlobProto):
        blobs.check(message, where)
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for index, submessage in enumerate(value if field.is_repeated else [value]):
                _check(submessage, blobs, _place(field.name, index, submessage, where))
        elif field.type == field.TYPE_STRING:
            for text in value if field.is_repeated else [value]:
                if isinstance(text, bytes):  # protobuf returns bytes for a string that isn't UTF-8
                    raise BinaryError(f"{where}: its {field.name} {text[:40]!r} is not UTF-8 text; the file is damaged")


def _place(field: str, index: int, message: Message, parent: str) -> str:
    if isinstance(message, (pb.LayerParameter, pb.V1LayerParameter)):
        named_message = message.layer if isinstance(message, pb.V1LayerParameter) else message
        name = message.name or named_message.name
        return f"layer {name[:100]!r}" if name else f"layer {index}"
    if isinstance(message, pb.BlobProto):
        return f"{parent}, {'blob' if field == 'blobs' else field} {index}"
    return parent
