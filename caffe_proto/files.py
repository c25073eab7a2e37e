"""Reads and writes Caffe's files in all forms. A file's form and message type are recognized and checked."""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Generic, TypeVar

from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from caffe_proto import binary, hdf5
from caffe_proto import caffe_pb2 as pb
from caffe_proto.addresses import local_path
from caffe_proto.blobs import Blobs, check_message
from caffe_proto.descriptors import descriptor_of
from caffe_proto.dialect_detection import detect_dialect, with_numbers_of
from caffe_proto.dialects import BVLC, Dialect, Uses, dialect_for, dialect_named, mark, marks_of
from caffe_proto.errors import CaffeError, FileError, TextError, UnknownNameError
from caffe_proto.storage import check_regular, write_pieces
from caffe_proto.text.document import Body
from caffe_proto.text.prototxt import body_of, count_fields, kind_of, message_of, text_of
from caffe_proto.wire import Buffer

M = TypeVar("M", bound=Message)


class Form(Enum):
    """The encoding of a file: text, binary or HDF5."""

    TEXT = "prototxt"
    BINARY = "binary"
    HDF5 = "HDF5"


# The form and the message type of each suffix. A file in another form is refused, not misread.
_SUFFIXES: dict[str, tuple[Form, type[Message] | None]] = {
    ".prototxt": (Form.TEXT, None),
    ".pbtxt": (Form.TEXT, None),
    ".caffemodel": (Form.BINARY, pb.NetParameter),
    ".solverstate": (Form.BINARY, pb.SolverState),
    ".binaryproto": (Form.BINARY, pb.BlobProto),
    ".h5": (Form.HDF5, None),
}
# The fields that identify a binary file without a known suffix. One of them is enough, and the first message type that
# fits wins.
_IDENTIFYING_FIELDS: dict[type[Message], set[str]] = {
    pb.NetParameter: {"layer", "layers"},
    pb.SolverState: {"history", "learned_net"},
    pb.BlobProto: {"stored"},
    pb.BlobProtoVector: {"blobs"},
    pb.Datum: {"data", "float_data"},
}
_ROLES: dict[type[Message], str] = {  # names for errors
    pb.NetParameter: "a net",
    pb.SolverParameter: "a solver's settings",
    pb.SolverState: "a solver's state",
    pb.BlobProto: "a blob",
    pb.BlobProtoVector: "a list of blobs",
    pb.Datum: "a data item",
    pb.LabelMap: "a label map",
    pb.LayerParameter: "a layer",
}
LFS_POINTER = b"version https://git-lfs"  # the beginning of a file that Git LFS hasn't replaced

_TEXT_START = re.compile(rb"\s*(#|[A-Za-z_]\w*\s*[:{<\[]|[<=>]{7}|$)")
_NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")


@dataclass
class CaffeFile(Generic[M]):
    """The contents of a file: its message, the message's blobs, and the form they were written in."""

    message: M
    blobs: Blobs = field(default_factory=Blobs)
    form: Form = Form.TEXT
    dialect: Dialect | None = None
    body: Body | None = None  # a prototxt as it was written, with comments
    path: str = ""  # of the file that was read
    origin: Origin | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Origin:
    """The bytes that a message was read from. They are written again if the message didn't change."""

    data: memoryview
    form: Form
    dialect: Dialect | None
    message: bytes


def read(
    path: str | Path,
    kind: type[Message] | None = None,
    *,
    dialect: str | None = None,
    lenient: bool = False,
    by_content: bool = False,
) -> CaffeFile[Message]:
    """Read any of Caffe's files.

    The message type is `kind`, or follows from the file's name and content. A binary file's dialect is detected unless
    `dialect` names it. The layers of a net are marked with its dialect if the dialect is known. With `lenient`, fields
    of a prototxt that the schema doesn't have are skipped with a warning. With `by_content`, the file's name is
    ignored, as Caffe does for weights.
    """
    path = local_path(path)
    with _add_path_to_errors(path):
        named_dialect = dialect_named(dialect) if dialect else None
    data = _map_file(path)
    form, expected_kind = _recognize(path, data, _SUFFIXES.get("" if by_content else path.suffix, (None, None)))
    with _add_path_to_errors(path):
        if form is Form.TEXT:
            file = _read_text(path, data, kind, lenient)
        elif form is Form.HDF5:
            file = _read_hdf5(path, data)
        else:
            file = _read_binary(data, kind or expected_kind, named_dialect)
        if named_dialect is not None and isinstance(file.message, pb.NetParameter):
            mark(file.message, [named_dialect.name])
    return replace(file, path=str(path))


@contextmanager
def _add_path_to_errors(path: str | Path) -> Iterator[None]:
    """Add the file's name to errors that lack it. Errors about a prototxt already contain it."""
    try:
        yield
    except TextError:
        raise
    except CaffeError as problem:
        raise type(problem)(f"{path}: {problem}") from None


def read_net(
    path: str | Path, *, dialect: str | None = None, lenient: bool = False, by_content: bool = False
) -> CaffeFile[pb.NetParameter]:
    """Read a net or its weights from a file of any form. Raises a `FileError` if the file contains something else."""
    kind = pb.NetParameter if by_content else _kind_for(path, pb.NetParameter)
    return _expect(read(path, kind, dialect=dialect, lenient=lenient, by_content=by_content), pb.NetParameter, path)


def read_solver(path: str | Path, *, lenient: bool = False) -> CaffeFile[pb.SolverParameter]:
    """Read a solver's prototxt."""
    return _expect(read(path, _kind_for(path, pb.SolverParameter), lenient=lenient), pb.SolverParameter, path)


def _kind_for(path: str | Path, kind: type[Message]) -> type[Message] | None:
    """Return the message type to read a file as, or `None` if the suffix or the file itself determines it."""
    form, suffix_kind = _SUFFIXES.get(Path(path).suffix, (None, None))
    return None if suffix_kind or form is Form.HDF5 else kind


def _expect(file: CaffeFile[Message], kind: type[M], path: str | Path) -> CaffeFile[M]:
    if not isinstance(file.message, kind):
        raise FileError(f"{path}: {_other_kind(type(file.message), kind)}")
    return file  # type: ignore[return-value]  # narrowed by the line above


def _other_kind(actual: type[Message], wanted: type[Message]) -> str:
    return f"this file contains {_ROLES[actual]} instead of {_ROLES[wanted]}; name another file"


def _map_file(path: Path) -> memoryview:
    check_regular(path)
    try:
        with path.open("rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise FileError(f"{path}: can't be opened: {reason}; check the path and its permissions") from None


def _recognize(
    path: Path, data: memoryview, expected: tuple[Form | None, type[Message] | None]
) -> tuple[Form, type[Message] | None]:
    form, kind = expected
    start = bytes(data[:4096])
    if start.startswith(LFS_POINTER):
        raise FileError(f"{path}: this is a Git LFS pointer, not the file itself; fetch the file with `git lfs pull`")
    text = _TEXT_START.match(start.removeprefix(b"\xef\xbb\xbf")) and is_text(start)
    actual_form = Form.HDF5 if start.startswith(hdf5.SIGNATURE) else Form.TEXT if text else Form.BINARY
    if (form is Form.TEXT and is_text(start)) or (form is None and _is_plain_text(start)):
        actual_form = Form.TEXT  # the parser's errors are more helpful than an error about the form
    if form is not None and form is not actual_form:
        raise FileError(
            f"{path}: a {path.suffix} file must be {form.value}, but this one is "
            f"{actual_form.value}{_advice(actual_form)}"
        )
    return actual_form, kind


def is_text(start: bytes) -> bool:
    """Return whether bytes may be text, in any encoding that extends ASCII."""
    return not _NOT_TEXT.search(start)


def _is_plain_text(start: bytes) -> bool:
    """Return whether the bytes are plain text, which no binary file is, even if no prototxt begins like this."""
    return start.isascii() and is_text(start)


def _advice(form: Form) -> str:
    return (
        "; if it is a net in text form, rename it to .prototxt"
        if form is Form.TEXT
        else "; use `zoo show` to see what it contains, and rename it"
    )


def _read_text(path: Path, data: memoryview, kind: type[Message] | None, lenient: bool) -> CaffeFile[Message]:
    body = body_of(bytes(data), str(path))
    likely = kind_of(body)
    try:
        message = message_of(body, kind or likely, str(path), lenient)
    except UnknownNameError:
        if kind is None or count_fields(body, kind) >= count_fields(body, likely):
            raise
        raise FileError(_other_kind(likely, kind)) from None
    return CaffeFile(message, body=body)


def _read_hdf5(path: Path, data: memoryview) -> CaffeFile[Message]:
    blobs = Blobs()
    message = hdf5.read(path, data, blobs)
    check_message(message, blobs)
    return CaffeFile(message, blobs, Form.HDF5, origin=Origin(data, Form.HDF5, None, _serialized(message)))


def _read_binary(data: memoryview, kind: type[Message] | None, dialect: Dialect | None) -> CaffeFile[Message]:
    kind = kind or _binary_kind(data)
    blobs, descriptor = Blobs(), descriptor_of(kind)
    skeleton = binary.cut(data, descriptor, blobs)
    dialect = dialect or detect_dialect(skeleton, descriptor)
    message = binary.parse(dialect.decode(skeleton, descriptor), kind)
    dialect = with_numbers_of(skeleton, descriptor, dialect)
    check_message(message, blobs)
    if isinstance(message, pb.NetParameter):
        _mark_by_numbers(message, dialect)
    return CaffeFile(
        message, blobs, Form.BINARY, dialect, origin=Origin(data, Form.BINARY, dialect, _serialized(message))
    )


def _mark_by_numbers(net: pb.NetParameter, numbers_of: Dialect) -> None:
    """Mark a net from a binary file with the dialect that it records, or else with the one whose numbers it uses.

    BVLC's numbers prove nothing, because a fork's net that needs none of the fork's fields uses them too.
    """
    if net.HasField("dialect"):
        mark(net, [dialect_named(net.dialect).name])
        net.ClearField("dialect")
    elif numbers_of is not BVLC:
        mark(net, [numbers_of.name])


def _binary_kind(data: memoryview) -> type[Message]:
    """Return the message type of a binary file whose suffix doesn't determine it."""
    for kind, identifying_fields in _IDENTIFYING_FIELDS.items():
        try:
            message = _read_binary(data, kind, None).message
        except CaffeError:
            continue
        if identifying_fields & {field.name for field, _ in message.ListFields()} and not _is_foreign(message):
            return kind
    raise FileError(
        "the file is neither text nor any of Caffe's binary files; convert a model in another format with `zoo convert`"
    )


def _is_foreign(message: Message) -> bool:
    """Return whether a message contains fields that no Caffe has, such as an ONNX model read as a solver state.

    Nets may contain any fields.
    """
    return not isinstance(message, pb.NetParameter) and len(UnknownFieldSet(message)) > 0


def _serialized(message: Message) -> bytes:
    return message.SerializePartialToString(deterministic=True)


def prototxt(file: CaffeFile[M]) -> str:
    """Return the prototxt of a file. A file that was read from prototxt keeps its order of fields and its comments."""
    return text_of(file.message, file.body)


def _text_pieces(file: CaffeFile[M]) -> Iterator[Buffer]:
    yield prototxt(file).encode("utf-8", "surrogateescape")


def _binary_pieces(file: CaffeFile[M], dialect_name: str | None) -> Iterator[Buffer]:
    """Yield the bytes of a file in pieces. An unchanged file is written as it was read."""
    dialect = dialect_named(dialect_name) if dialect_name else file.dialect
    if _unchanged(file, Form.BINARY) and file.origin is not None and dialect is file.origin.dialect:
        yield file.origin.data
        return
    yield from binary.join(_encoded(file.message, dialect), descriptor_of(file.message), file.blobs)


def _encoded(message: Message, dialect: Dialect | None) -> bytes:
    """Return a message in a dialect's numbers. A net records its own dialect if the numbers don't show it."""
    descriptor, serialized = descriptor_of(message), _serialized(message)
    if not isinstance(message, pb.NetParameter):
        return (dialect or dialect_for(message)).encode(serialized, descriptor)
    marks = marks_of(message)
    encoded = (dialect or _dialect_with(message, marks)).encode(serialized, descriptor)
    detected = (detect_dialect(encoded, descriptor).name,)
    if len(marks) != 1 or marks == detected != (BVLC.name,):
        return encoded
    return encoded + _serialized(pb.NetParameter(dialect=marks[0]))


def _dialect_with(net: pb.NetParameter, marks: tuple[str, ...]) -> Dialect:
    """Return the dialect whose numbers a net is written with. It is the net's own if that has all its fields."""
    if len(marks) == 1:
        dialect = dialect_named(marks[0])
        if Uses.of(_serialized(net), descriptor_of(net)).fit(dialect):
            return dialect  # otherwise a net of one fork uses a field of another, for example
    return dialect_for(net)


def _unchanged(file: CaffeFile[M], form: Form) -> bool:
    return file.origin is not None and file.origin.form is form and file.origin.message == _serialized(file.message)


def write(
    file: CaffeFile[M],
    path: str | Path,
    *,
    dialect: str | None = None,
    form: Form | None = None,
    durable: bool = False,
) -> None:
    """Write a file in the form that its name implies, or in `form`. The file is written whole or not at all.

    A binary net is written in `dialect`, else in the dialect that it was read in, else in the first that has all its
    fields. With `durable`, the file is on the disk when the function returns.
    """
    if form is None:
        form = form_of(path)
        _check_suffix(file, path)
    if form is Form.HDF5:
        _write_hdf5(file, path, durable)
        return
    if form is Form.TEXT and len(file.blobs):
        raise FileError(
            f"{path}: weights are too large for prototxt; use a name that ends in .caffemodel or .caffemodel.h5"
        )
    with _add_path_to_errors(path):
        pieces = list(_text_pieces(file) if form is Form.TEXT else _binary_pieces(file, dialect))
    write_pieces(path, pieces, durable=durable)


def _check_suffix(file: CaffeFile[M], path: str | Path) -> None:
    """Raise a `FileError` for a message that couldn't be read again under the file's suffix."""
    suffix = Path(path).suffix
    expected_kind = _SUFFIXES[suffix][1]
    if expected_kind in (pb.NetParameter, pb.SolverState) and not isinstance(file.message, expected_kind):
        actual_kind = file.message.DESCRIPTOR.name
        raise FileError(
            f"{path}: a {suffix} file must contain a {expected_kind.DESCRIPTOR.name}, but this is a "
            f"{actual_kind}; write it as .prototxt or .binaryproto"
        )


def _write_hdf5(file: CaffeFile[M], path: str | Path, durable: bool) -> None:
    if not isinstance(file.message, (pb.NetParameter, pb.SolverState)):
        raise FileError(
            f"{path}: HDF5 can store weights and solver states, but not a {file.message.DESCRIPTOR.name}; write "
            "it as .prototxt or .binaryproto"
        )
    if _unchanged(file, Form.HDF5) and file.origin is not None:
        write_pieces(path, [file.origin.data], durable=durable)
        return
    with _add_path_to_errors(path):
        image = hdf5.file_image(file.message, file.blobs)
    write_pieces(path, [image], durable=durable)


def form_of(path: str | Path) -> Form:
    """Return the form that a file's suffix stands for."""
    form, _ = _SUFFIXES.get(Path(path).suffix, (None, None))
    if form is None:
        raise FileError(f"{path}: can't tell the format from the name; use one of {', '.join(_SUFFIXES)}")
    return form
