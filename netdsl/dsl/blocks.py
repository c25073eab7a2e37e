"""Functions for repeated layers: the layers are the function's body, and their differences are its parameters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from netdsl.dsl.expression import (
    INDENT,
    WIDTH,
    CompoundExpression,
    Expression,
    Leaf,
    LeafKind,
    leaves,
    lines_of,
    quoted,
    with_leaves,
)
from netdsl.dsl.name_patterns import NamePattern, Values, name_patterns
from netdsl.dsl.writing import unique_name

_MAX_PARAMETERS = 8  # with more, a call says less than its layers

Column = tuple[Leaf, ...]  # the leaves at one place, one for each repetition
Difference = tuple[LeafKind, Values]  # the values of a column that varies; columns with equal values share a parameter


@dataclass(frozen=True)
class BlockParameter:
    """A parameter of the function, and the code of its argument in every call."""

    name: str
    kind: LeafKind
    arguments: Values


@dataclass(frozen=True)
class Block:
    """A function of the generated program that makes several layers."""

    name: str
    parameters: tuple[BlockParameter, ...]
    layers: tuple[Expression, ...]

    def source(self) -> list[str]:
        """The lines of the function."""
        parameters = tuple(("", Leaf(f"{parameter.name}: {parameter.kind.value}")) for parameter in self.parameters)
        head = lines_of(CompoundExpression(f"def {self.name}(", parameters, ")"), after=" -> list[LayerParameter]:")
        layers = CompoundExpression("[", tuple(("", layer) for layer in self.layers), "]")
        return [*head, *(INDENT + line for line in lines_of(layers, WIDTH - len(INDENT), before="return "))]

    def calls(self) -> list[CompoundExpression]:
        """The call for every repetition. Numbers are keyword arguments if the calls fit on a line then."""
        repetitions = range(len(self.parameters[0].arguments))
        calls = [self._call(repetition, keywords=True) for repetition in repetitions]
        fits = all(len(f"{INDENT}{call},") <= WIDTH for call in calls)
        return calls if fits else [self._call(repetition, keywords=False) for repetition in repetitions]

    def _call(self, repetition: int, *, keywords: bool) -> CompoundExpression:
        items = []
        for parameter in self.parameters:
            before = f"{parameter.name}=" if keywords and parameter.kind is not LeafKind.NAME else ""
            items.append((before, Leaf(parameter.arguments[repetition])))
        return CompoundExpression(f"*{self.name}(", tuple(items), ")")


def make_block(repetitions: Sequence[Sequence[CompoundExpression]], used_names: Iterable[str]) -> Block | None:
    """The block for repeated sequences of layers of the same form; None if they differ in too much or not at all."""
    leaves_by_repetition = [[list(leaves(layer)) for layer in layers] for layers in repetitions]
    layers: list[list[Column]] = [
        list(zip(*same_place, strict=True)) for same_place in zip(*leaves_by_repetition, strict=True)
    ]
    patterns = _find_name_patterns(layers)
    if patterns is None or not 0 < _parameter_count(layers, patterns) <= min(_MAX_PARAMETERS, len(layers) + 2):
        return None
    codes, parameters = _parameters(layers, patterns)
    block_layers = tuple(
        _with_parameters(layer, columns, codes) for layer, columns in zip(repetitions[0], layers, strict=True)
    )
    return Block(
        unique_name(_block_name(layers[0], patterns, str(repetitions[0][0])), used_names),
        tuple(parameters),
        block_layers,
    )


def _difference_of(column: Column) -> Difference | None:
    """The difference in a column, or None if all its values are equal."""
    values = tuple(leaf.value for leaf in column)
    return (column[0].kind, values) if len(set(values)) > 1 else None


def _find_name_patterns(layers: list[list[Column]]) -> dict[Values, NamePattern] | None:
    """Patterns for the names that differ, all with the same middle part; None if there are no such patterns."""
    tops: dict[Values, None] = {}
    bottoms: dict[Values, None] = {}
    for column in (column for layer in layers for column in layer):
        difference = _difference_of(column)
        if difference is not None and difference[0] is LeafKind.NAME:
            (bottoms if column[0].role == "bottom" else tops)[difference[1]] = None
    return name_patterns(tops, bottoms)


def _parameter_count(layers: list[list[Column]], patterns: dict[Values, NamePattern]) -> int:
    """The number of parameters of the function."""
    differences = (
        {_difference_of(column) for layer in layers for column in layer}
        - {(LeafKind.NAME, values) for values in patterns}
        - {None}
    )
    return len(differences) + bool(patterns)


def _parameters(
    layers: list[list[Column]], patterns: dict[Values, NamePattern]
) -> tuple[dict[Difference, str], list[BlockParameter]]:
    """The parameters, and the code that uses one for each difference."""
    codes = {(LeafKind.NAME, difference): pattern.code("name") for difference, pattern in patterns.items()}
    parameters = [
        BlockParameter("name", LeafKind.NAME, tuple(map(quoted, pattern.middles)))
        for pattern in [*patterns.values()][:1]
    ]
    for difference, name in _parameter_names(layers, patterns, codes).items():
        values = tuple(map(quoted, difference[1])) if difference[0] is LeafKind.NAME else difference[1]
        parameters.append(BlockParameter(name, difference[0], values))
        codes[difference] = name
    return codes, sorted(parameters, key=lambda parameter: parameter.kind is not LeafKind.NAME)


def _parameter_names(
    layers: list[list[Column]], patterns: dict[Values, NamePattern], assigned: Iterable[Difference]
) -> dict[Difference, str]:
    """Parameter names of the other differences: the field's name, with the layer's if several layers have the field."""
    roles: dict[Difference, tuple[str, str]] = {}
    for layer in layers:
        pattern = patterns.get(tuple(leaf.value for leaf in layer[0]))
        for column in layer:
            difference = _difference_of(column)
            if difference is not None and difference not in assigned:
                bottom = column[0].role == "bottom"
                roles.setdefault(
                    difference, (column[0].role, pattern.words if pattern is not None and not bottom else "")
                )
    fields, both = Counter(field for field, _ in roles.values()), Counter(roles.values())
    parameter_names: dict[Difference, str] = {}
    for difference, (field, words) in roles.items():
        distinctive = fields[field] > 1 and both[field, words] == 1 and re.search("[A-Za-z]", words)
        parameter_names[difference] = unique_name(
            f"{field}_{words}" if distinctive else field, parameter_names.values()
        )
    return parameter_names


def _with_parameters(layer: CompoundExpression, columns: list[Column], codes: dict[Difference, str]) -> Expression:
    following = iter(columns)

    def fill(leaf: Leaf) -> Leaf:
        difference = _difference_of(next(following))
        return leaf if difference is None else Leaf(codes[difference])

    return with_leaves(layer, fill)


def _block_name(first_layer: list[Column], patterns: dict[Values, NamePattern], call: str) -> str:
    """The function's name, from the name or the type of the first layer."""
    pattern = patterns.get(tuple(leaf.value for leaf in first_layer[0]))
    words = re.findall("[a-z]+", pattern.prefix.lower()) if pattern is not None else []
    return "_".join([*(words or [call.partition("(")[0].lower()]), "block"])
