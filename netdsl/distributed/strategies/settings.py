"""Strategies by name, as a line of text: `averaging:tau=50,warmup=10`."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from typing import Any, get_args, get_type_hints

from netdsl.distributed.strategies.all_reduce import AllReduce
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.distributed.strategies.elastic import ElasticAveraging, SynchronousElastic
from netdsl.distributed.strategies.mpca import MPCA
from netdsl.distributed.strategies.outer import OuterMomentum
from netdsl.distributed.strategies.strategy import Strategy
from netdsl.errors import DistributedError

_ALL: tuple[type[Any], ...] = (ModelAveraging, AllReduce, OuterMomentum, ElasticAveraging, SynchronousElastic, MPCA)
STRATEGIES: Mapping[str, type[Any]] = {each.name: each for each in _ALL}


def parse(text: str, strategies: Mapping[str, type[Any]] = STRATEGIES) -> Strategy:
    """The strategy that a line names, with its settings."""
    name, _, rest = text.partition(":")
    if name not in strategies:
        raise DistributedError(f"unknown strategy '{name}'{_meant(name, strategies)}")
    kind = strategies[name]
    types = get_type_hints(kind)
    fields = {field.name: types[field.name] for field in dataclasses.fields(kind)}
    given = dict(_pair(each, name, fields) for each in rest.split(",") if each)
    strategy: Strategy = kind(**given)
    return strategy


def text_of(strategy: Strategy) -> str:
    """The line from which `parse` makes the same strategy."""
    settings = dataclasses.asdict(strategy)  # type: ignore[call-overload]
    return f"{strategy.name}:" + ",".join(f"{name}={_plain(value)}" for name, value in settings.items())


def _pair(text: str, strategy: str, fields: Mapping[str, Any]) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or name not in fields:
        raise DistributedError(f"strategy '{strategy}': '{text}' is no setting{_meant(name, fields)}")
    for kind in get_args(fields[name]) or (fields[name],):
        found = _read(kind, value)
        if found is not None:
            return name, found
    raise DistributedError(f"strategy '{strategy}': {name} can't be '{value}'")


def _read(kind: Any, text: str) -> Any:
    """The value, if the text is one of that kind."""
    if kind is bool:
        return {"true": True, "false": False}.get(text.lower())
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            return None
    literals = get_args(kind) or (kind,)
    return text if text in literals or kind is str else None


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _meant(name: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}"
