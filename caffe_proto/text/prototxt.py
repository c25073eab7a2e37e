"""Reading, writing and formatting prototxt: conversions between its bytes, its fields and messages."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import FileError
from caffe_proto.storage import write_pieces
from caffe_proto.text.binding import bind, unbind, with_dialect
from caffe_proto.text.document import Body
from caffe_proto.text.parser import parse
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
    """Parse the bytes of a file; bytes that aren't UTF-8 are preserved in comments, where they usually are."""
    return parse(data.decode("utf-8", "surrogateescape"), where)


def kind_of(body: Body) -> type[Message]:
    """The message type that most of the fields belong to."""
    return max(_KINDS, key=lambda kind: count_fields(body, kind))


def count_fields(body: Body, kind: type[Message]) -> int:
    """How many of the fields a message type has."""
    return sum(entry.name in kind.DESCRIPTOR.fields_by_name for entry in body.entries)


def message_of(body: Body, kind: type[M], where: str, lenient: bool = False) -> M:
    """The message of the fields of a prototxt."""
    message = kind()
    bind(body, message, where=where, lenient=lenient)
    return message


def text_of(message: Message, body: Body | None = None) -> str:
    """The prototxt of a message; with `body`, in the body's order of fields and with its comments."""
    return write(unbind(message) if body is None else with_dialect(body, message))


def from_text(text: str, kind: type[M], *, where: str = "prototxt", lenient: bool = False) -> M:
    """Parse prototxt into a message."""
    return message_of(parse(text, where), kind, where, lenient)


def reformat(data: bytes, where: str, *, lenient: bool = False) -> bytes:
    """The text in this project's layout; it is checked against the schema first."""
    body = body_of(data, where)
    message_of(body, kind_of(body), where, lenient)
    return write(body).encode("utf-8", "surrogateescape")


def reformat_file(path: str | Path, *, write: bool = True, lenient: bool = False) -> bool:
    """Reformat a file in place; the result says whether that changes it. With `write=False` the file stays as it is."""
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise FileError(f"{path}: can't be opened: {problem.strerror}") from None
    if b"\0" in data:
        raise FileError(f"{path}: is a binary file; only prototxt has a layout")
    formatted = reformat(data, str(path), lenient=lenient)
    if write and formatted != data:
        write_pieces(path, [formatted])
    return formatted != data
