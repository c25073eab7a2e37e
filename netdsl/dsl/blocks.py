"""Layers that repeat as one function: what they have in common, and what differs from time to time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from netdsl.dsl.expression import (
    INDENT,
    WIDTH,
    BracketKind,
    CompoundExpression,
    Expression,
    Leaf,
    leaves,
    lines_of,
    quoted,
    with_leaves,
)
from netdsl.dsl.names import Holed, Values, cuts
from netdsl.dsl.writing import unique

_MOST_PARAMETERS = 8  # with more, a call says less than its layers

Column = tuple[Leaf, ...]  # what stands at one place, each time
Key = tuple[BracketKind, Values]  # columns of one key are the same difference


@dataclass(frozen=True)
class BlockParameter:
    """A parameter of the function, and the code of its argument in every call."""

    name: str
    kind: BracketKind
    arguments: Values


@dataclass(frozen=True)
class Block:
    """A function that makes several layers."""

    name: str
    parameters: tuple[BlockParameter, ...]
    layers: tuple[Expression, ...]

    def source(self) -> list[str]:
        """The lines of the function."""
        parameters = tuple(("", Leaf(f"{each.name}: {each.kind.value}")) for each in self.parameters)
        head = lines_of(CompoundExpression(f"def {self.name}(", parameters, ")"), after=" -> list[LayerParameter]:")
        layers = CompoundExpression("[", tuple(("", layer) for layer in self.layers), "]")
        return [*head, *(INDENT + line for line in lines_of(layers, WIDTH - len(INDENT), before="return "))]

    def calls(self) -> list[CompoundExpression]:
        """The call for every time. Numbers are named where there is room for it."""
        times = range(len(self.parameters[0].arguments))
        named = [self._call(time, keywords=True) for time in times]
        fits = all(len(f"{INDENT}{call},") <= WIDTH for call in named)
        return named if fits else [self._call(time, keywords=False) for time in times]

    def _call(self, time: int, *, keywords: bool) -> CompoundExpression:
        items = []
        for each in self.parameters:
            before = f"{each.name}=" if keywords and each.kind is not BracketKind.NAME else ""
            items.append((before, Leaf(each.arguments[time])))
        return CompoundExpression(f"*{self.name}(", tuple(items), ")")


def block_of(times: Sequence[Sequence[CompoundExpression]], taken: Iterable[str]) -> Block | None:
    """The block that these sequences of equal form are; None if they differ in too much, or in nothing."""
    by_time = [[list(leaves(layer)) for layer in layers] for layers in times]
    layers: list[list[Column]] = [list(zip(*each, strict=True)) for each in zip(*by_time, strict=True)]
    names = _cut(layers)
    if names is None or not 0 < _differences(layers, names) <= min(_MOST_PARAMETERS, len(layers) + 2):
        return None
    codes, parameters = _parameters(layers, names)
    filled = tuple(_filled(layer, columns, codes) for layer, columns in zip(times[0], layers, strict=True))
    return Block(unique(_title(layers[0], names, str(times[0][0])), taken), tuple(parameters), filled)


def _key(column: Column) -> Key | None:
    """What differs in a column, if anything."""
    values = tuple(leaf.value for leaf in column)
    return (column[0].kind, values) if len(set(values)) > 1 else None


def _cut(layers: list[list[Column]]) -> dict[Values, Holed] | None:
    """How the names that differ are made of the one thing that differs in them."""
    made: dict[Values, None] = {}
    read: dict[Values, None] = {}
    for column in (column for layer in layers for column in layer):
        key = _key(column)
        if key is not None and key[0] is BracketKind.NAME:
            (read if column[0].role == "bottom" else made)[key[1]] = None
    return cuts(made, read)


def _differences(layers: list[list[Column]], names: dict[Values, Holed]) -> int:
    """How many parameters there would be."""
    keys = (
        {_key(column) for layer in layers for column in layer}
        - {(BracketKind.NAME, values) for values in names}
        - {None}
    )
    return len(keys) + bool(names)


def _parameters(layers: list[list[Column]], names: dict[Values, Holed]) -> tuple[dict[Key, str], list[BlockParameter]]:
    """The parameters, and by difference the code that uses them."""
    codes = {(BracketKind.NAME, key): cut.code("name") for key, cut in names.items()}
    parameters = [
        BlockParameter("name", BracketKind.NAME, tuple(map(quoted, cut.middles))) for cut in [*names.values()][:1]
    ]
    for key, variable in _named(layers, names, codes).items():
        values = tuple(map(quoted, key[1])) if key[0] is BracketKind.NAME else key[1]
        parameters.append(BlockParameter(variable, key[0], values))
        codes[key] = variable
    return codes, sorted(parameters, key=lambda each: each.kind is not BracketKind.NAME)


def _named(layers: list[list[Column]], names: dict[Values, Holed], known: Iterable[Key]) -> dict[Key, str]:
    """The other differences, with a name each: that of the field, and of the layer if several have that field."""
    found: dict[Key, tuple[str, str]] = {}
    for layer in layers:
        title = names.get(tuple(leaf.value for leaf in layer[0]))
        for column in layer:
            key = _key(column)
            if key is not None and key not in known:
                bottom = column[0].role == "bottom"
                found.setdefault(key, (column[0].role, title.words if title is not None and not bottom else ""))
    fields, both = Counter(field for field, _ in found.values()), Counter(found.values())
    named: dict[Key, str] = {}
    for key, (field, words) in found.items():
        telling = fields[field] > 1 and both[field, words] == 1 and re.search("[A-Za-z]", words)
        named[key] = unique(f"{field}_{words}" if telling else field, named.values())
    return named


def _filled(layer: CompoundExpression, columns: list[Column], codes: dict[Key, str]) -> Expression:
    following = iter(columns)

    def fill(leaf: Leaf) -> Leaf:
        key = _key(next(following))
        return leaf if key is None else Leaf(codes[key])

    return with_leaves(layer, fill)


def _title(first: list[Column], names: dict[Values, Holed], call: str) -> str:
    """What to call the function: as the first layer is, or its type."""
    cut = names.get(tuple(leaf.value for leaf in first[0]))
    words = re.findall("[a-z]+", cut.prefix.lower()) if cut is not None else []
    return "_".join([*(words or [call.partition("(")[0].lower()]), "block"])
