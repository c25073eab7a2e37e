"""One node of an ONNX graph, and what an operator may ask of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from converters.incoming.net import NetBlob, NetWriter, Value
from netdsl.errors import ConversionError
from netdsl.weights.match import AnyArray


@dataclass(frozen=True)
class OnnxNode:
    """An operator with its inputs, of which those left out are None, and its settings."""

    op: str
    name: str
    inputs: Sequence[Value | None]
    outputs: int
    attributes: Mapping[str, Any]
    opset: int

    def given(self, place: int) -> bool:
        """Whether an input is there."""
        return place < len(self.inputs) and self.inputs[place] is not None

    def value(self, place: int) -> Value:
        """An input of any kind."""
        value = self.inputs[place] if self.given(place) else None
        if value is None:
            raise ConversionError(f"its input {place} is missing")
        return value

    def values(self) -> list[Value]:
        """All inputs."""
        return [self.value(place) for place in range(len(self.inputs))]

    def blob(self, place: int = 0) -> NetBlob:
        """An input that has to be computed."""
        value = self.value(place)
        if not isinstance(value, NetBlob):
            raise ConversionError(f"its input {place} is a constant, where Caffe takes a blob")
        return value

    def blobs(self) -> list[NetBlob]:
        """All inputs, none of them a constant."""
        return [self.blob(place) for place in range(len(self.inputs))]

    def array(self, place: int) -> AnyArray:
        """An input that has to be a constant."""
        value = self.value(place)
        if isinstance(value, NetBlob):
            raise ConversionError(f"its input {place} depends on the net's inputs; Caffe takes a constant there")
        return value

    def optional(self, place: int) -> AnyArray | None:
        """The same of an input that may be left out."""
        return self.array(place) if self.given(place) else None

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute."""
        return self.attributes.get(name, default)

    def ints(self, name: str, place: int) -> list[int] | None:
        """Whole numbers that older opsets have as an attribute and newer ones as an input."""
        if name in self.attributes:
            return list(self.attributes[name])
        array = self.optional(place)
        return None if array is None else [int(value) for value in array.reshape(-1)]

    def number(self, name: str, place: int, default: float) -> float:
        """One number of that kind."""
        array = self.optional(place)
        return float(self.get(name, default)) if array is None or not array.size else float(array.item())


Made = NetBlob | Sequence[NetBlob]
Operator = Callable[[NetWriter, OnnxNode], Made]
Operators = dict[str, Operator]
