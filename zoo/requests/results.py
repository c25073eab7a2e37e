"""Results as JSON values. A dataclass becomes an object with its fields, unless the class defines its own form."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from netdsl.model.data_shapes import DataShape

T = TypeVar("T")

_JSON = "json"  # the key in a field's metadata for the field's name in JSON
_IN_PLACE = "*"
LEFT_OUT, MERGED = {_JSON: None}, {_JSON: _IN_PLACE}  # leave the field out of JSON; put its own fields in its place


@runtime_checkable
class SaysJson(Protocol):
    """A result whose JSON form isn't just its fields."""

    def plain(self) -> Any:
        """Return the result as other results, text, numbers, lists and dictionaries."""
        ...


@runtime_checkable
class MayBeNo(Protocol):
    """A result that is either good or bad, such as the result of a check."""

    @property
    def good(self) -> bool:
        """Whether the result is good."""
        ...


@runtime_checkable
class MayFail(Protocol):
    """A result from which some parts are missing because they failed."""

    failed: Sequence[str]


class OneOrMore(tuple[T, ...]):
    """A list of results. JSON shows a list of one as its only element."""

    def plain(self) -> Any:
        """Return the only result, or the list of several."""
        return self[0] if len(self) == 1 else list(self)


@dataclass(frozen=True, kw_only=True)
class KnowsData:
    """A result that includes the shapes of a net's data."""

    says_too: ClassVar[tuple[str, ...]] = ("assumed",)

    data: Mapping[str, DataShape] = field(default_factory=dict)

    @property
    def assumed(self) -> dict[str, tuple[int, ...]]:
        """The assumed shapes, which neither the net nor its data define."""
        from netdsl.model.data_shapes import assumed_items

        return assumed_items(self.data)


def parts_of(kind: type) -> dict[str, str]:
    """Return the JSON names of a dataclass's fields and of the properties that are shown too. A star means that the
    field's own parts are shown in its place."""
    named = {each.name: each.metadata.get(_JSON, each.name) for each in fields(kind)}
    shown = {name: json for name, json in named.items() if json is not None}
    return {**shown, **{name: name for name in getattr(kind, "says_too", ())}}


def plain_value(value: Any) -> Any:
    """Return a result as JSON values. Infinities and NaN become strings, as in protobuf's JSON."""
    if isinstance(value, SaysJson):
        return plain_value(value.plain())
    if hasattr(type(value), "__struct_fields__"):
        import msgspec

        return plain_value(msgspec.to_builtins(value))
    if is_dataclass(value) and not isinstance(value, type):
        plain: dict[str, Any] = {}
        for name, json in parts_of(type(value)).items():
            part = plain_value(getattr(value, name))
            plain |= part if json == _IN_PLACE else {json: part}
        return plain
    if isinstance(value, Mapping):
        return {str(plain_value(name)): plain_value(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain_value(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
