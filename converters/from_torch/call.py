"""A call of a torch operator in a traced module, with access to its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from converters.incoming.net import NetBlob, NetWriter, Tops, Value
from netdsl.errors import ConversionError
from netdsl.weights.files import array_of
from netdsl.weights.match import AnyArray


@dataclass(frozen=True)
class Call:
    """The arguments of a call, by their names in the operator's schema: blobs, constant tensors and others."""

    arguments: Mapping[str, Any]

    def get(self, name: str, default: Any = None) -> Any:
        """An argument that isn't a tensor, or a default."""
        return self.arguments.get(name, default)

    def value(self, name: str) -> Value:
        """A tensor or a number: a blob or a constant."""
        return _value(self.arguments[name])

    def blob(self, name: str = "self") -> NetBlob:
        """A tensor that must be a blob."""
        value = self.value(name)
        if not isinstance(value, NetBlob):
            raise ConversionError(f"its {name} is a constant, where Caffe takes a blob")
        return value

    def blobs(self, name: str) -> list[NetBlob]:
        """A list of tensors that must be blobs."""
        values = [_value(argument) for argument in self.arguments[name]]
        if not all(isinstance(value, NetBlob) for value in values):
            raise ConversionError(f"one of its {name} is a constant, where Caffe takes a blob")
        return [value for value in values if isinstance(value, NetBlob)]

    def array(self, name: str) -> AnyArray:
        """A tensor that must be a constant."""
        value = self.value(name)
        if isinstance(value, NetBlob):
            raise ConversionError(f"its {name} depends on the net's inputs; Caffe takes a constant there")
        return value

    def optional(self, name: str) -> AnyArray | None:
        """A constant tensor, or None if it is left out."""
        return None if self.get(name) is None else self.array(name)

    def numbers(self, name: str, axes: int) -> tuple[int, ...]:
        """The numbers of a setting, one for each axis; torch's rule: a single number stands for all axes."""
        argument = self.arguments[name]
        values = [argument] if isinstance(argument, int) else list(argument)
        return tuple(values * axes if len(values) == 1 else values)


def _value(argument: Any) -> Value:
    if isinstance(argument, NetBlob):
        return argument
    return array_of(argument) if isinstance(argument, torch.Tensor) else np.asarray(argument)


Counterpart = Callable[[NetWriter, Call], Tops]
Counterparts = dict[str, Counterpart]
