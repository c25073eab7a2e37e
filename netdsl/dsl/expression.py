"""Python expressions as trees of calls, lists, dicts and leaves, and their layout in lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

WIDTH = 120
INDENT = "    "


class LeafKind(Enum):
    """The kind of a leaf; its value is the Python type of a parameter that takes its place."""

    CODE = "code"
    NAME = "str"  # of a layer, a blob or a shared parameter
    INTEGER = "int"
    FLOAT = "float"


@dataclass(frozen=True)
class Leaf:
    """A value: its code, or for a name the name itself. `role` is its use, such as bottom or num_output."""

    value: str
    kind: LeafKind = LeafKind.CODE
    role: str = ""

    def __str__(self) -> str:
        return quoted(self.value) if self.kind is LeafKind.NAME else self.value


@dataclass(frozen=True)
class CompoundExpression:
    """A call, a list or a dict. An item has the text before a value, such as `pad=`, and the value."""

    opening: str
    items: tuple[tuple[str, Expression], ...]
    closing: str

    def __str__(self) -> str:
        return self.opening + ", ".join(f"{before}{value}" for before, value in self.items) + self.closing


Expression = Leaf | CompoundExpression


def quoted(text: str | bytes) -> str:
    """A string literal with double quotes where possible, as formatters prefer."""
    literal = repr(text)
    return literal if '"' in literal else '"'.join(literal.rsplit("'", 1)).replace("'", '"', 1)


def lines_of(expression: Expression, width: int = WIDTH, before: str = "", after: str = "") -> list[str]:
    """The lines of an expression: one if it fits, else one for each item."""
    line = f"{before}{expression}{after}"
    if len(line) <= width or isinstance(expression, Leaf) or not expression.items:
        return [line]
    inner = [
        INDENT + line
        for name, value in expression.items
        for line in lines_of(value, width - len(INDENT), before=name, after=",")
    ]
    return [before + expression.opening, *inner, expression.closing + after]


def leaves(expression: Expression) -> Iterator[Leaf]:
    """The leaves of an expression in their order."""
    if isinstance(expression, Leaf):
        yield expression
    else:
        for _, value in expression.items:
            yield from leaves(value)


def with_leaves(expression: Expression, change: Callable[[Leaf], Leaf]) -> Expression:
    """The same tree with every leaf changed."""
    if isinstance(expression, Leaf):
        return change(expression)
    return replace(expression, items=tuple((name, with_leaves(value, change)) for name, value in expression.items))
