"""Names of classes in the metadata of a table's columns, as Hugging Face's data sets keep them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

_KEY = b"huggingface"
_CLASSES = "ClassLabel"  # the type of a column whose numbers are classes with names


def class_names_of(schema: Any, columns: Sequence[str]) -> tuple[str, ...]:
    """The names of the classes in the first of these columns that has some; none if no column has any."""
    features = _features(schema)
    for column in columns:
        feature = features.get(column)
        names = feature.get("names") if isinstance(feature, dict) and feature.get("_type") == _CLASSES else None
        if isinstance(names, list) and names and all(isinstance(name, str) for name in names):
            return tuple(names)
    return ()


def with_class_names(schema: Any, column: str, names: Sequence[str]) -> Any:
    """The schema with the names of the classes that a column's numbers are."""
    features = {**_features(schema), column: {"names": list(names), "_type": _CLASSES}}
    content = json.dumps({"info": {"features": features}}).encode()
    return schema.with_metadata({**(schema.metadata or {}), _KEY: content})


def _features(schema: Any) -> dict[str, Any]:
    """What is known about the columns; nothing if that is in another form."""
    try:
        content = json.loads((schema.metadata or {}).get(_KEY, b"{}"))
        features = content["info"]["features"]
    except (ValueError, TypeError, LookupError, RecursionError):
        return {}
    return features if isinstance(features, dict) else {}
