"""How rules come by the operations that they are for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn import functional

from netdsl.transparent.batch_tensor import RULES, Function, Rule

_PLACES = (torch, torch.Tensor, functional, torch.special, torch.linalg)


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Use a rule for the operations of these names, whether they are functions or methods."""

    def use(function: Rule) -> Rule:
        for name in " ".join(names).split():
            for operation in operations(name):
                RULES.setdefault(operation, []).append(function)
        return function

    return use


def operations(name: str) -> Iterator[Function]:
    """The operations of a name, each once; of a property it is how it is read."""
    seen: list[Any] = []
    for place in _PLACES:
        operation = getattr(place, name, None)
        operation = operation if callable(operation) else getattr(operation, "__get__", None)
        if operation is not None and operation not in seen:
            seen.append(operation)
            yield operation


def name_of(func: Function) -> str:
    """An operation's name, the same for the function, the method, and the one that works in place."""
    return func.__name__.strip("_")


def argument(args: tuple[Any, ...], kwargs: dict[str, Any], index: int, name: str, default: Any = None) -> Any:
    """An argument by its position or name."""
    return args[index] if len(args) > index else kwargs.get(name, default)
