"""Events and records as plain values, which go from process to process as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from netdsl.distributed.record import RoundRecord
from netdsl.errors import DistributedError
from netdsl.solver.events import Event

Told = Event | RoundRecord

_KINDS: Mapping[str, type[Any]] = {kind.__name__: kind for kind in (*get_args(Event), RoundRecord)}


def message_of(told: Told) -> dict[str, Any]:
    """What JSON can say."""
    return {"kind": type(told).__name__, **_plain(told)}


def told_by(message: Mapping[str, Any]) -> Told:
    """The event or record that a message was made of."""
    values = dict(message)
    kind = _KINDS.get(values.pop("kind", ""))
    if kind is None:
        raise DistributedError(f"a worker said something unknown: {str(message)[:200]}")
    told: Told = _typed(kind, values)
    return told


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, Enum):
        return value.value
    return str(value) if isinstance(value, Path) else value


@cache
def _types(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _typed(kind: Any, value: Any) -> Any:
    """A plain value as an object of a type."""
    if dataclasses.is_dataclass(kind):
        types: dict[str, Any] = _types(kind)  # type: ignore[arg-type]  # a class can be hashed
        return kind(**{name: _typed(types[name], each) for name, each in value.items()})  # type: ignore[operator]
    if get_origin(kind) in (list, tuple):
        return get_origin(kind)(_typed(get_args(kind)[0], each) for each in value)
    if get_origin(kind) is UnionType or value is None:
        return value
    if isinstance(kind, type) and issubclass(kind, (Enum, Path)):
        return kind(value)
    return value
