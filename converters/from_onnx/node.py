"""A node of an ONNX graph, with access to its inputs and attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from converters.incoming.net import NetBlob, NetWriter, Tops, Value
from netdsl.errors import ConversionError
from netdsl.weights.match import AnyArray


@dataclass(frozen=True)
class OnnxNode:
    """An operator with its inputs, which are None where they are left out, and its attributes."""

    op: str
    name: str
    inputs: Sequence[Value | None]
    outputs: int
    attributes: Mapping[str, Any]
    opset: int

    def has_input(self, index: int) -> bool:
        """Whether the node has an input at a position."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def value(self, index: int) -> Value:
        """An input, a blob or a constant."""
        value = self.inputs[index] if self.has_input(index) else None
        if value is None:
            raise ConversionError(f"its input {index} is missing")
        return value

    def values(self) -> list[Value]:
        """All inputs."""
        return [self.value(index) for index in range(len(self.inputs))]

    def blob(self, index: int = 0) -> NetBlob:
        """An input that must be a blob."""
        value = self.value(index)
        if not isinstance(value, NetBlob):
            raise ConversionError(f"its input {index} is a constant, where Caffe takes a blob")
        return value

    def blobs(self) -> list[NetBlob]:
        """All inputs, which must be blobs."""
        return [self.blob(index) for index in range(len(self.inputs))]

    def array(self, index: int) -> AnyArray:
        """An input that must be a constant."""
        value = self.value(index)
        if isinstance(value, NetBlob):
            raise ConversionError(f"its input {index} depends on the net's inputs; Caffe takes a constant there")
        return value

    def optional(self, index: int) -> AnyArray | None:
        """A constant input, or None if it is left out."""
        return self.array(index) if self.has_input(index) else None

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute, or a default."""
        return self.attributes.get(name, default)

    def ints(self, name: str, index: int) -> list[int] | None:
        """Whole numbers that are an attribute in older opsets and an input in newer ones."""
        if name in self.attributes:
            return list(self.attributes[name])
        array = self.optional(index)
        return None if array is None else [int(value) for value in array.reshape(-1)]

    def number(self, name: str, index: int, default: float) -> float:
        """One number that is an attribute in older opsets and an input in newer ones."""
        array = self.optional(index)
        return float(self.get(name, default)) if array is None or not array.size else float(array.item())


Operator = Callable[[NetWriter, OnnxNode], Tops]
Operators = dict[str, Operator]
