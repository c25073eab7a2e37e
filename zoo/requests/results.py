"""What comes of a request as JSON's values: dataclasses by the names of their fields, unless they say it themselves."""

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

_JSON = "json"  # the key of a field's metadata with what JSON calls it
_IN_PLACE = "*"
LEFT_OUT, MERGED = {_JSON: None}, {_JSON: _IN_PLACE}  # it isn't there; or its own fields are, in its place


@runtime_checkable
class SaysJson(Protocol):
    """A result whose JSON isn't just its fields."""

    def plain(self) -> Any:
        """Return the result as values of other results, text, numbers, lists and dictionaries."""
        ...


@runtime_checkable
class MayBeNo(Protocol):
    """A result that says yes or no."""

    @property
    def good(self) -> bool:
        """Whether it says yes."""
        ...


@runtime_checkable
class MayFail(Protocol):
    """A result without parts that couldn't be had."""

    failed: Sequence[str]


class OneOrMore(tuple[T, ...]):
    """Results of which a single one stands for itself in JSON."""

    def plain(self) -> Any:
        """Return the result, or the list of several."""
        return self[0] if len(self) == 1 else list(self)


@dataclass(frozen=True, kw_only=True)
class KnowsData:
    """A result that says what is known of the shapes of a net's data."""

    says_too: ClassVar[tuple[str, ...]] = ("assumed",)

    data: Mapping[str, DataShape] = field(default_factory=dict)

    @property
    def assumed(self) -> dict[str, tuple[int, ...]]:
        """The shapes that neither the net nor its data say."""
        from netdsl.model.data_shapes import assumed_items

        return assumed_items(self.data)


def parts_of(kind: type) -> dict[str, str]:
    """Return what JSON calls the fields of a dataclass, and the properties that it says too, by their own names; a star
    is for one whose parts are in its place."""
    named = {each.name: each.metadata.get(_JSON, each.name) for each in fields(kind)}
    shown = {name: json for name, json in named.items() if json is not None}
    return {**shown, **{name: name for name in getattr(kind, "says_too", ())}}


def plain_value(value: Any) -> Any:
    """Return a result as JSON's values; infinities and NaN become strings, as in protobuf's JSON."""
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
