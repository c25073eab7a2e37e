"""Prototxt read and written: bytes, body and message."""

from __future__ import annotations

from typing import TypeVar

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.bind import bind
from caffe_proto.text.document import Body
from caffe_proto.text.parser import parse
from caffe_proto.text.unbind import unbind
from caffe_proto.text.write import write

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
    """The fields of a file; bytes that aren't UTF-8 survive in comments, where they usually are."""
    return parse(data.decode("utf-8", "surrogateescape"), where)


def kind_of(body: Body) -> type[Message]:
    """The message that most of the fields belong to."""
    names = [entry.name for entry in body.entries]
    return max(_KINDS, key=lambda kind: sum(name in kind.DESCRIPTOR.fields_by_name for name in names))


def message_of(body: Body, kind: type[M], where: str, lenient: bool = False) -> M:
    """The message that a body stands for."""
    message = kind()
    bind(body, message, where=where, lenient=lenient)
    return message


def text_of(message: Message, body: Body | None = None) -> str:
    """The prototxt of a message; with the body that it came from, in its author's order and with the comments."""
    return write(body if body is not None else unbind(message))


def from_text(text: str, kind: type[M], *, where: str = "prototxt", lenient: bool = False) -> M:
    """The message that a piece of prototxt stands for."""
    return message_of(parse(text, where), kind, where, lenient)
