"""Prototxt put into one layout without changing what it means."""

from __future__ import annotations

from pathlib import Path

from caffe_proto.errors import FileError
from caffe_proto.storage import write_pieces
from caffe_proto.text.prototxt import body_of, kind_of, message_of
from caffe_proto.text.write import write


def reformat(data: bytes, where: str, *, lenient: bool = False) -> bytes:
    """The text in our layout; it is checked against the schema first."""
    body = body_of(data, where)
    message_of(body, kind_of(body), where, lenient)
    return write(body).encode("utf-8", "surrogateescape")


def reformat_file(path: str | Path, *, write: bool = True, lenient: bool = False) -> bool:
    """Reformat a file in its place, and say whether that changed it."""
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise FileError(f"{path}: can't be opened: {problem.strerror}") from None
    formatted = reformat(data, str(path), lenient=lenient)
    if write and formatted != data:
        write_pieces(path, [formatted])
    return formatted != data
