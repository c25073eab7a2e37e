"""Reads and writes ONNX files.

Files from others are untrusted. Our own files are written in pieces, without copies of their weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import Message

from caffe_proto.copies import copy_of
from caffe_proto.errors import CaffeError, FileError
from caffe_proto.limits import Limit
from caffe_proto.storage import check_regular, write_pieces
from caffe_proto.wire import LENGTH, Buffer, tag, varint
from converters.onnx.library import onnx, onnx_module
from converters.staging import staged_file
from netdsl.model.weights.match import AnyArray

CARD = "card"  # the key of a model card in a model's metadata
_ALWAYS_FITS = 256 << 20  # bytes of values that fit into the memory of any machine
_SMALL = 64 << 20  # bytes of a file that is unlikely to need more memory
_SHOWN = 100  # letters of a name in an error
_MAX_BYTES = 2**31 - 2**20  # protobuf's limit for one file, with some room for the graph
_SMALL_BYTES = 1024  # initializers below this size stay in the model, so that shapes can be inferred

Functions = Mapping[tuple[str, str], Any]  # functions by domain and name


def load_onnx(path: str | Path) -> Any:
    """Return the model in a file, with the values that other files in its folder store."""
    path = Path(path)
    with _as_file_errors(path):
        model = onnx().load(path, load_external_data=False)
        if not model.graph.output:
            raise FileError(
                f"{path}: not an ONNX model, because it has no outputs; export the model again with its outputs"
            )
        _check_text(model, path)
        _check_functions(model, path)
        _check_external_values(model, path)
        _check_sizes(model, path)
        onnx_module("external_data_helper").load_external_data_for_model(model, str(path.parent))
        return model


def read_card_text(path: Path) -> str:
    """Return the model card in a model's metadata, or an empty text."""
    with _as_file_errors(path):
        properties = onnx().load(path, load_external_data=False).metadata_props
        return next((str(each.value) for each in properties if each.key == CARD), "")


@contextmanager
def _as_file_errors(path: Path) -> Iterator[None]:
    """Check that a file is a regular one, and turn the errors about its contents into a `FileError`."""
    check_regular(path)
    try:
        yield
    except CaffeError:
        raise
    except Exception as problem:  # from protobuf or onnx; onnx's exception classes aren't public
        reason = next(iter(str(problem).splitlines()), type(problem).__name__)
        raise FileError(f"{path}: not a readable ONNX model: {reason}; export the model again") from None


def _check_external_values(model: Any, path: Path) -> None:
    """Raise a `FileError` unless external values are in regular files in the model's folder, within the files'
    sizes."""
    helper, folder = onnx_module("external_data_helper"), path.parent.resolve()
    sizes, needed = dict[Path, int](), 0
    for tensor in _tensors(model):
        if not helper.uses_external_data(tensor):
            continue
        where, info = f"{path}: the values of '{tensor.name[:_SHOWN]}'", helper.ExternalDataInfo(tensor)
        data = (folder / info.location).resolve()
        if not info.location or data == folder or not data.is_relative_to(folder):
            raise FileError(
                f"{where} are at '{info.location[:_SHOWN]}', which isn't a file in the model's folder; move the "
                "file there"
            )
        check_regular(folder / info.location)
        size, offset = data.stat().st_size, info.offset or 0
        length = size - offset if info.length is None else info.length
        if min(offset, length) < 0 or offset + length > size:
            raise FileError(
                f"{where} aren't all in {data}; the file is cut short or belongs to another model, so copy both "
                "files again"
            )
        sizes[data] = size
        needed += length
    if needed > max(_ALWAYS_FITS, 2 * sum(sizes.values())):
        raise FileError(
            f"{path}: the model reads the same values repeatedly, {needed:,} bytes in total; the file is "
            "damaged, so export it again"
        )


def _tensors(message: Message) -> Iterator[Any]:
    """Return all tensors inside a message, at any depth."""
    return (part for part in _parts(message) if part.DESCRIPTOR.name == "TensorProto")


def _parts(message: Message) -> Iterator[Any]:
    """Yield a message and all messages inside it, at any depth."""
    yield message
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for part in value if field.is_repeated else [value]:
                yield from _parts(part)


def _check_text(model: Any, path: Path) -> None:
    """Raise a FileError for text that isn't UTF-8, which protobuf reads as bytes."""
    for part in _parts(model):
        for field, value in part.ListFields():
            if field.type == field.TYPE_STRING:
                for text in value if field.is_repeated else [value]:
                    if isinstance(text, bytes):
                        raise FileError(
                            f"{path}: {field.name} {text[:_SHOWN]!r} isn't UTF-8 text; the file is damaged, so "
                            "export it again"
                        )


def _check_sizes(model: Any, path: Path) -> None:
    """Raise a `LimitError` if a small file contains a value that would fill the memory, as far as its shapes are
    known."""
    if path.stat().st_size > _SMALL:
        return
    try:
        graph = onnx_module("shape_inference").infer_shapes(model).graph
    except Exception:  # an error in the graph is reported when the graph runs
        graph = model.graph
    for value in (*graph.input, *graph.value_info, *graph.output):
        lengths = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        Limit.VALUES.check(math.prod(lengths), f"{path}: '{value.name[:_SHOWN]}' of shape {lengths}")


def indices_that_are_read(graph: Any) -> list[int]:
    """Return the indices of the nodes that the outputs depend on, in their order."""
    needed, indices = {value.name for value in graph.output}, list[int]()
    for index, node in reversed(list(enumerate(graph.node))):
        if needed.intersection(node.output):
            needed.update(name for part in _parts(node) if part.DESCRIPTOR.name == "NodeProto" for name in part.input)
            needed.update(
                value.name for part in _parts(node) if part.DESCRIPTOR.name == "GraphProto" for value in part.output
            )
            indices.append(index)
    return indices[::-1]


def remove_unread_nodes(graph: Any) -> None:
    """Remove the nodes that no output depends on, because onnxruntime would run them."""
    read = set(indices_that_are_read(graph))
    for index in reversed(range(len(graph.node))):
        if index not in read:
            del graph.node[index]


def _check_functions(model: Any, path: Path) -> None:
    """Raise a `FileError` if a function calls itself, and a `LimitError` if the graph has too many nodes with its
    functions written out."""
    functions = {(function.domain, function.name): function for function in model.functions}
    counts: dict[tuple[str, str], int] = {}
    for key in functions:
        _count(key, functions, counts, path, ())
    Limit.NODES.check(_count_nodes(model.graph.node, functions, counts, path, ()), f"{path}: the graph")


def _count(
    key: tuple[str, str],
    functions: Functions,
    counts: dict[tuple[str, str], int],
    path: Path,
    callers: Sequence[tuple[str, str]],
) -> int:
    """Return the number of nodes of a function that is written out."""
    if key in callers or len(callers) > _SHOWN:
        raise FileError(
            f"{path}: function '{key[1][:_SHOWN]}' calls itself, or is nested too deeply; the file is damaged, "
            "so export it again"
        )
    if key not in counts:
        counts[key] = _count_nodes(functions[key].node, functions, counts, path, (*callers, key))
    return counts[key]


def _count_nodes(
    nodes: Sequence[Any],
    functions: Functions,
    counts: dict[tuple[str, str], int],
    path: Path,
    callers: Sequence[tuple[str, str]],
) -> int:
    total = 0
    for node in nodes:
        key = node.domain, node.op_type
        total += _count(key, functions, counts, path, callers) if key in functions else 1
        for attribute in node.attribute:
            for graph in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                total += _count_nodes(graph.node, functions, counts, path, callers)
    return total


@dataclass(frozen=True)
class SplitModel:
    """A model without the values of its initializers, and these values, so that they needn't be copied.

    A value is `None` if an initializer stores it in a field of numbers.
    """

    message: Any
    values: Sequence[AnyArray | None]

    @classmethod
    def of(cls, model: Any) -> SplitModel:
        """Split a model. The message is a copy without the values."""
        copy, values = copy_of(model), list[AnyArray | None]()
        for tensor in copy.graph.initializer:
            values.append(np.frombuffer(tensor.raw_data, np.uint8) if tensor.HasField("raw_data") else None)
            tensor.ClearField("raw_data")
        return cls(copy, values)

    def joined(self) -> Any:
        """Return the model with a copy of its values."""
        model = copy_of(self.message)
        for tensor, array in zip(model.graph.initializer, self.values, strict=True):
            if array is not None:
                tensor.raw_data = array.tobytes()
        return model

    def pieces(self) -> Iterator[Buffer]:
        """Yield the bytes of the model with its values, as protobuf would write them."""
        graph, tensors = self.message.graph, []
        for tensor, array in zip(graph.initializer, self.values, strict=True):
            start = tensor.SerializeToString()
            start += b"" if array is None else _tag(tensor, "raw_data", array.nbytes)
            tensors.append((_tag(graph, "initializer", len(start) + _size(array)) + start, array))
        before, after = _around(self.message, "graph")
        graph_before, graph_after = _around(graph, "initializer")
        size = sum(len(start) + _size(array) for start, array in tensors)
        yield before + _tag(self.message, "graph", len(graph_before) + size + len(graph_after)) + graph_before
        for start, array in tensors:
            yield start
            if array is not None:
                yield _bytes(array)
        yield graph_after + after


def save_onnx(model: Any, path: str | Path, *, external: bool | None = None) -> None:
    """Write a model.

    With `external`, which is the default above 2 GB, the weights go to `<name>.data` in the same folder.
    """
    with staged_file(path) as staged:
        write_model(SplitModel.of(model), staged, external=external)


def write_model(model: SplitModel, path: Path, *, external: bool | None = None) -> Any:
    """Write a model into one file, or into two as `save_onnx` does, and return its message without the values."""
    if sum(map(_size, model.values)) > _MAX_BYTES if external is None else external:
        model = _with_values_in(path.with_name(f"{path.name}.data"), model)
    write_pieces(path, model.pieces())
    return model.message


def _with_values_in(data: Path, model: SplitModel) -> SplitModel:
    """Write a model's large values to a separate file, and return a model that refers to it."""
    message, inside, outside, offset = copy_of(model.message), list[AnyArray | None](), list[AnyArray](), 0
    for tensor, array in zip(message.graph.initializer, model.values, strict=True):
        if array is None or array.nbytes < _SMALL_BYTES:
            inside.append(array)
            continue
        tensor.data_location = onnx().TensorProto.EXTERNAL
        for key, value in (("location", data.name), ("offset", offset), ("length", array.nbytes)):
            tensor.external_data.add(key=key, value=str(value))
        inside.append(None)
        outside.append(array)
        offset += array.nbytes
    write_pieces(data, map(_bytes, outside))
    return SplitModel(message, inside)


def too_large(model: Any) -> bool:
    """Return whether a model is larger than one file can hold."""
    return sum(len(tensor.raw_data) for tensor in model.graph.initializer) > _MAX_BYTES


def _size(array: AnyArray | None) -> int:
    return 0 if array is None else array.nbytes


def _bytes(array: AnyArray) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _tag(message: Any, field: str, length: int) -> bytes:
    """Return the tag and the length that precede the bytes of a field."""
    return tag(message.DESCRIPTOR.fields_by_name[field].number, LENGTH) + varint(length)


def _around(message: Any, name: str) -> tuple[bytes, bytes]:
    """Return the bytes of the fields before and after the named field."""
    fields, number = [field for field, _ in message.ListFields()], message.DESCRIPTOR.fields_by_name[name].number
    before = copy_of(message, without=[field.name for field in fields if field.number >= number])
    after = copy_of(message, without=[field.name for field in fields if field.number <= number])
    return before.SerializeToString(), after.SerializeToString()
