"""One call of a torch operator in a traced module, and what its counterpart may ask of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from converters.incoming.net import NetBlob, NetWriter, Value
from netdsl.errors import ConversionError
from netdsl.weights.files import array_of
from netdsl.weights.match import AnyArray


@dataclass(frozen=True)
class Call:
    """The arguments by the names that the operator's schema has: blobs, tensors that are constant, and others."""

    arguments: Mapping[str, Any]

    def get(self, name: str, default: Any = None) -> Any:
        """An argument that is no tensor."""
        return self.arguments.get(name, default)

    def value(self, name: str) -> Value:
        """A tensor or a number, which may be a constant."""
        return _value(self.arguments[name])

    def blob(self, name: str = "self") -> NetBlob:
        """A tensor that has to be computed."""
        value = self.value(name)
        if not isinstance(value, NetBlob):
            raise ConversionError(f"its {name} is a constant, where Caffe takes a blob")
        return value

    def blobs(self, name: str) -> list[NetBlob]:
        """Several of them."""
        values = [_value(each) for each in self.arguments[name]]
        if not all(isinstance(value, NetBlob) for value in values):
            raise ConversionError(f"one of its {name} is a constant, where Caffe takes a blob")
        return [value for value in values if isinstance(value, NetBlob)]

    def array(self, name: str) -> AnyArray:
        """A tensor that has to be a constant."""
        value = self.value(name)
        if isinstance(value, NetBlob):
            raise ConversionError(f"its {name} depends on the net's inputs; Caffe takes a constant there")
        return value

    def optional(self, name: str) -> AnyArray | None:
        """The same of one that may be left out."""
        return None if self.get(name) is None else self.array(name)

    def numbers(self, name: str, axes: int) -> tuple[int, ...]:
        """A setting for each axis; torch's rule: one stands for all."""
        given = self.arguments[name]
        values = [given] if isinstance(given, int) else list(given)
        return tuple(values * axes if len(values) == 1 else values)


def _value(given: Any) -> Value:
    if isinstance(given, NetBlob):
        return given
    return array_of(given) if isinstance(given, torch.Tensor) else np.asarray(given)


Made = NetBlob | Sequence[NetBlob]
Counterpart = Callable[[NetWriter, Call], Made]
Counterparts = dict[str, Counterpart]
