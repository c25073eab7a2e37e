"""ONNX models in files: they are written in pieces, whole or not at all, and nobody copies their weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from caffe_proto.storage import write_pieces
from caffe_proto.wire import LENGTH, Buffer, tag, varint
from converters.onnx.library import onnx
from converters.staging import staged_file
from netdsl.weights.match import AnyArray

_MAX_BYTES = 2**31 - 2**20  # protobuf's limit for one file, with some room for the graph
_SMALL_BYTES = 1024  # of an initializer that stays in the model, so that shapes can be inferred


@dataclass(frozen=True)
class SplitModel:
    """A model, and the values of its initializers apart from it, so that they needn't be copied into it.

    The values are None where an initializer has them in a field of numbers.
    """

    message: Any
    values: Sequence[AnyArray | None]

    @classmethod
    def of(cls, model: Any) -> SplitModel:
        """A model of which a copy has no values."""
        copy, values = type(model)(), list[AnyArray | None]()
        copy.CopyFrom(model)
        for tensor in copy.graph.initializer:
            values.append(np.frombuffer(tensor.raw_data, np.uint8) if tensor.HasField("raw_data") else None)
            tensor.ClearField("raw_data")
        return cls(copy, values)

    def joined(self) -> Any:
        """The model with its values, which are copied."""
        model = type(self.message)()
        model.CopyFrom(self.message)
        for tensor, array in zip(model.graph.initializer, self.values, strict=True):
            if array is not None:
                tensor.raw_data = array.tobytes()
        return model

    def pieces(self) -> Iterator[Buffer]:
        """The bytes of the model with its values, as protobuf would write them."""
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
    """Write a model. With `external`, by default above 2 GB, its weights go to `<name>.data` beside it."""
    with staged_file(path) as staged:
        write_model(SplitModel.of(model), staged, external=external)


def write_model(model: SplitModel, path: Path, *, external: bool | None = None) -> None:
    """Write a model into a file, or into two as `save_onnx` does."""
    if sum(map(_size, model.values)) > _MAX_BYTES if external is None else external:
        model = _with_values_in(path.with_name(f"{path.name}.data"), model)
    write_pieces(path, model.pieces())


def _with_values_in(data: Path, model: SplitModel) -> SplitModel:
    """Write a model's large values into a file of their own, to which the result refers."""
    message, inside, outside, offset = type(model.message)(), list[AnyArray | None](), list[AnyArray](), 0
    message.CopyFrom(model.message)
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
    """Whether a model is larger than one file can hold."""
    return sum(len(tensor.raw_data) for tensor in model.graph.initializer) > _MAX_BYTES


def _size(array: AnyArray | None) -> int:
    return 0 if array is None else array.nbytes


def _bytes(array: AnyArray) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _tag(message: Any, field: str, length: int) -> bytes:
    """What stands before the bytes of a field."""
    return tag(message.DESCRIPTOR.fields_by_name[field].number, LENGTH) + varint(length)


def _around(message: Any, name: str) -> tuple[bytes, bytes]:
    """The bytes of the fields before one and after it."""
    parts = type(message)(), type(message)()
    number = message.DESCRIPTOR.fields_by_name[name].number
    for part, is_before in zip(parts, (True, False), strict=True):
        part.CopyFrom(message)
        for field, _ in message.ListFields():
            if field.number == number or (field.number < number) is not is_before:
                part.ClearField(field.name)
    before, after = (part.SerializeToString() for part in parts)
    return before, after
