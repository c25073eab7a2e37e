"""JSON Schemas of requests and results, derived from their types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import is_dataclass
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from zoo.requests.request import Request, RequestField, fields_of
from zoo.requests.results import MERGED, parts_of

Schema = dict[str, Any]

_PLAIN: dict[type, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]},
    NoneType: {"type": "null"},
    Path: {"type": "string"},
}


def request_schema(kind: type[Request]) -> Schema:
    """Return the schema of a file for `--config` that contains all settings."""
    described = fields_of(kind)
    return {
        "type": "object",
        "properties": {each.option_name: _setting_schema(each) for each in described},
        "required": [each.option_name for each in described if each.is_needed],
        "additionalProperties": False,
    }


def _setting_schema(each: RequestField) -> Schema:
    said = each.said
    one: Schema = {"type": "string"} if said.get("parse") else dict(schema_of(each.kind))
    if each.kind is float and not said.get("parse"):
        one = {"type": "number"}
    bounds = {"minimum": said.get("least"), "exclusiveMinimum": said.get("above"), "maximum": said.get("most")}
    one |= {name: bound for name, bound in bounds.items() if bound is not None}
    schema: Schema = {"type": "array", "items": one} if each.is_repeated else one
    facts = {"description": said.get("help"), "default": each.plain_default}
    return schema | {name: fact for name, fact in facts.items() if fact not in (None, "")}


def schema_of(hint: Any) -> Schema:
    """Return the schema of the JSON form of a type's values."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return {"anyOf": [schema_of(part) for part in parts]}
    if origin is Literal:
        return {"enum": list(parts)}
    kind = origin or hint
    if not isinstance(kind, type):
        return {}
    said = types_of(kind.plain).get("return") if hasattr(kind, "plain") else None
    if said is not None and said is not Any:
        return schema_of(said)
    return _class_schema(kind, parts)


def _class_schema(kind: type, parts: tuple[Any, ...]) -> Schema:
    if hasattr(kind, "plain") and parts:  # one result, or the list of several
        return {"anyOf": [schema_of(parts[0]), {"type": "array", "items": schema_of(parts[0])}]}
    if issubclass(kind, Enum):
        return {"enum": [each.value for each in kind]}
    if is_dataclass(kind):
        return _dataclass_schema(kind)
    if hasattr(kind, "__struct_fields__"):
        return _object_schema({name: schema_of(hint) for name, hint in types_of(kind).items()})
    if issubclass(kind, Mapping):
        return {"type": "object", **({"additionalProperties": schema_of(parts[1])} if parts else {})}
    if issubclass(kind, (Sequence, AbstractSet, Iterator)):
        if issubclass(kind, tuple) and parts and parts[-1] is not Ellipsis:
            return {"type": "array", "prefixItems": [schema_of(part) for part in parts]}
        return {"type": "array", **({"items": schema_of(parts[0])} if parts else {})}
    return {}


def _object_schema(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _dataclass_schema(kind: type) -> Schema:
    """Return the schema of a dataclass, by JSON names. A part that some of the merged classes lack is optional."""
    hints, properties, optional = types_of(kind), dict[str, Schema](), set[str]()
    for name, json in parts_of(kind).items():
        schema = schema_of(hints[name] if name in hints else types_of(getattr(kind, name).fget)["return"])
        if json != MERGED["json"]:
            properties[json] = schema
            continue
        ways = [each["properties"] for each in schema.get("anyOf", [schema])]
        for way in ways:
            properties |= way
            optional |= {name for name in way if not all(name in other for other in ways)}
    return {**_object_schema(properties), "required": [name for name in properties if name not in optional]}


def types_of(named: object) -> dict[str, Any]:
    """Return the type hints of a class or function. Types that results import only for type checking, since they need
    torch, are resolved too."""
    from netdsl.model.data_shapes import DataShape

    return get_type_hints(named, localns={"DataShape": DataShape})
