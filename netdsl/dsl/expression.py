"""Python expressions as trees: calls, lists and dicts over leaves, and how they are laid out in lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

WIDTH = 120
INDENT = "    "


class BracketKind(Enum):
    """What a leaf is, for whoever asks whether two expressions differ only in names and numbers."""

    CODE = "code"
    NAME = "str"  # of a layer, a blob or a shared parameter
    WHOLE = "int"
    REAL = "float"


@dataclass(frozen=True)
class Leaf:
    """A value. `value` is code, but for names the name itself; `role` says what it is for: bottom, num_output, ..."""

    value: str
    kind: BracketKind = BracketKind.CODE
    role: str = ""

    def __str__(self) -> str:
        return quoted(self.value) if self.kind is BracketKind.NAME else self.value


@dataclass(frozen=True)
class CompoundExpression:
    """A call, a list or a dict. An item is what stands before a value (`pad=`) and the value."""

    opening: str
    items: tuple[tuple[str, Expression], ...]
    closing: str

    def __str__(self) -> str:
        return self.opening + ", ".join(f"{before}{value}" for before, value in self.items) + self.closing


Expression = Leaf | CompoundExpression


def quoted(text: str | bytes) -> str:
    """A literal in the quotes that formatters prefer."""
    literal = repr(text)
    return literal if '"' in literal else '"'.join(literal.rsplit("'", 1)).replace("'", '"', 1)


def lines_of(expression: Expression, width: int = WIDTH, before: str = "", after: str = "") -> list[str]:
    """The expression in one line if it fits, else one item a line."""
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
    """The leaves in their order."""
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
