"""Functions for repeated layers in generated code. The parts in which the layers differ become parameters."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

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
    unique_name,
    with_leaves,
)

Values = tuple[str, ...]
_MAX_PARAMETERS = 8  # with more parameters, a call is less clear than its layers
Column = tuple[Leaf, ...]  # the leaves at one place, one for each repetition
Difference = tuple[LeafKind, Values]  # the values of a column that varies; columns with equal values share a parameter
_MAX_LAYERS = 40  # layers in a block; a longer function isn't easier to read than its layers
_MIN_SAVED = 200  # characters that a function must save; a slightly shorter program isn't more readable
_PER_PARAMETER = 40  # characters that each parameter must save, since readers have to learn it
Positions = list[int]


def fold_repetitions(
    layers: Sequence[CompoundExpression], used_names: set[str]
) -> tuple[list[Expression], list[Block]]:
    """Replace repeated layers by calls of functions. Returns the layers and calls, and the functions."""
    used_names, forms = set(used_names), _forms(layers)
    sizes = [_size(layer) for layer in layers]
    blocks: list[Block] = []
    calls: dict[
        int, tuple[CompoundExpression, int]
    ] = {}  # by position, the call and the number of layers that it replaces
    while best := _best_block(layers, forms, sizes, used_names):
        block, positions = best
        blocks.append(block)
        used_names.add(block.name)
        for position, call in zip(positions, block.calls(), strict=True):
            calls[position] = call, len(block.layers)
            forms[position : position + len(block.layers)] = [None] * len(block.layers)
    return list(_with_calls(layers, calls)), blocks


def _with_calls(
    layers: Sequence[CompoundExpression], calls: dict[int, tuple[CompoundExpression, int]]
) -> Iterator[Expression]:
    position = 0
    while position < len(layers):
        call, length = calls.get(position, (layers[position], 1))
        yield call
        position += length


def _size(expression: Expression) -> int:
    return len(str(expression))


def _forms(layers: Sequence[CompoundExpression]) -> list[int | None]:
    """Return a number for each layer. Layers that differ only in names and numbers have the same number."""
    numbers: dict[Expression, int] = {}
    return [numbers.setdefault(with_leaves(layer, _form), len(numbers)) for layer in layers]


def _form(leaf: Leaf) -> Leaf:
    return leaf if leaf.kind is LeafKind.CODE else Leaf("", leaf.kind)


def _best_block(
    layers: Sequence[CompoundExpression], forms: list[int | None], sizes: list[int], used_names: set[str]
) -> tuple[Block, Positions] | None:
    """Return the block that saves the most characters, and its positions."""
    best, most_saved = None, _MIN_SAVED - 1
    for most_possible, length, positions in sorted(_repeated_runs(forms, sizes), reverse=True):
        if most_possible <= most_saved:
            break
        block = _make_block([layers[position : position + length] for position in positions], used_names)
        if block is None:
            continue
        before = sum(sum(sizes[position : position + length]) for position in positions)
        after = sum(len(line.strip()) for line in block.source()) + sum(map(_size, block.calls()))
        saved = before - after - _PER_PARAMETER * len(block.parameters)
        if saved > most_saved:
            best, most_saved = (block, positions), saved
    return best


def _repeated_runs(forms: list[int | None], sizes: list[int]) -> Iterator[tuple[int, int, Positions]]:
    """Yield repeated runs of layers with the same forms.

    A run is the number of characters that it could save, its length and its positions.
    """
    for length in range(2, min(_MAX_LAYERS, len(forms) // 2) + 1):
        positions_by_forms: defaultdict[tuple[int | None, ...], Positions] = defaultdict(list)
        for position in range(len(forms) - length + 1):
            run_forms = tuple(forms[position : position + length])
            if None not in run_forms and (
                not positions_by_forms[run_forms] or positions_by_forms[run_forms][-1] + length <= position
            ):
                positions_by_forms[run_forms].append(position)
        for positions in positions_by_forms.values():
            if len(positions) > 1:
                before = sum(sum(sizes[position : position + length]) for position in positions)
                yield before - sum(sizes[positions[0] : positions[0] + length]) - len(positions), length, positions


@dataclass(frozen=True)
class _BlockParameter:
    """A parameter of the function, and the code of its argument in each call."""

    name: str
    kind: LeafKind
    arguments: Values


@dataclass(frozen=True)
class Block:
    """A function of the generated program that makes several layers."""

    name: str
    parameters: tuple[_BlockParameter, ...]
    layers: tuple[Expression, ...]

    def source(self) -> list[str]:
        """Return the lines of the function."""
        parameters = tuple(("", Leaf(f"{parameter.name}: {parameter.kind.value}")) for parameter in self.parameters)
        head = lines_of(CompoundExpression(f"def {self.name}(", parameters, ")"), after=" -> list[LayerParameter]:")
        layers = CompoundExpression("[", tuple(("", layer) for layer in self.layers), "]")
        return [*head, *(INDENT + line for line in lines_of(layers, WIDTH - len(INDENT), before="return "))]

    def calls(self) -> list[CompoundExpression]:
        """Return the call for each repetition. Numbers are keyword arguments if all calls then fit on a line."""
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


def _make_block(repetitions: Sequence[Sequence[CompoundExpression]], used_names: Iterable[str]) -> Block | None:
    """Return the block for repeated sequences of layers, or `None` if they differ in too many places or nowhere."""
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
    """Return the difference in a column, or `None` if all its values are equal."""
    values = tuple(leaf.value for leaf in column)
    return (column[0].kind, values) if len(set(values)) > 1 else None


def _find_name_patterns(layers: list[list[Column]]) -> dict[Values, _NamePattern] | None:
    """Return patterns for the names that differ, or `None` if they don't all have the same middle part."""
    tops: dict[Values, None] = {}
    bottoms: dict[Values, None] = {}
    for column in (column for layer in layers for column in layer):
        difference = _difference_of(column)
        if difference is not None and difference[0] is LeafKind.NAME:
            (bottoms if column[0].role == "bottom" else tops)[difference[1]] = None
    return name_patterns(tops, bottoms)


def _parameter_count(layers: list[list[Column]], patterns: dict[Values, _NamePattern]) -> int:
    """Return the number of parameters of the function."""
    differences = (
        {_difference_of(column) for layer in layers for column in layer}
        - {(LeafKind.NAME, values) for values in patterns}
        - {None}
    )
    return len(differences) + bool(patterns)


def _parameters(
    layers: list[list[Column]], patterns: dict[Values, _NamePattern]
) -> tuple[dict[Difference, str], list[_BlockParameter]]:
    """Return the parameters, and the code that replaces each difference."""
    codes = {(LeafKind.NAME, difference): pattern.code("name") for difference, pattern in patterns.items()}
    parameters = [
        _BlockParameter("name", LeafKind.NAME, tuple(map(quoted, pattern.middles)))
        for pattern in [*patterns.values()][:1]
    ]
    for difference, name in _parameter_names(layers, patterns, codes).items():
        values = tuple(map(quoted, difference[1])) if difference[0] is LeafKind.NAME else difference[1]
        parameters.append(_BlockParameter(name, difference[0], values))
        codes[difference] = name
    return codes, sorted(parameters, key=lambda parameter: parameter.kind is not LeafKind.NAME)


def _parameter_names(
    layers: list[list[Column]], patterns: dict[Values, _NamePattern], assigned: Iterable[Difference]
) -> dict[Difference, str]:
    """Return the parameter names of the other differences.

    A name is that of the field, followed by the layer's name if several layers have the field.
    """
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


def _block_name(first_layer: list[Column], patterns: dict[Values, _NamePattern], call: str) -> str:
    """Return the function's name, which is based on the name or the type of the first layer."""
    pattern = patterns.get(tuple(leaf.value for leaf in first_layer[0]))
    words = re.findall("[a-z]+", pattern.prefix.lower()) if pattern is not None else []
    return "_".join([*(words or [call.partition("(")[0].lower()]), "block"])


@dataclass(frozen=True)
class _NamePattern:
    """A pattern of names that differ only in a middle part."""

    prefix: str
    middles: Values
    suffix: str

    def code(self, variable: str) -> str:
        """Return the Python expression for the names, given a variable with the middle part."""
        if not self.prefix and not self.suffix:
            return variable
        return f'f"{self.prefix}{{{variable}}}{self.suffix}"'

    @property
    def words(self) -> str:
        """The common suffix, or else the prefix, as part of an identifier."""
        return _identifier(self.suffix) or _identifier(self.prefix)

    @property
    def plain(self) -> bool:
        """Whether prefix and suffix need no escapes in an f-string."""
        fixed = self.prefix + self.suffix
        return fixed.isprintable() and not re.search(r"""[{}"'\\]""", fixed)


def name_patterns(tops: Iterable[Values], bottoms: Iterable[Values]) -> dict[Values, _NamePattern] | None:
    """Return the patterns of all tops, and of the bottoms with the same middle parts.

    Returns `None` if the tops' middle parts differ.
    """
    shortest = {values: name_pattern(values) for values in tops}
    middles = {pattern.middles for pattern in shortest.values()}
    if len(middles) > 1 or not all(pattern.plain for pattern in shortest.values()):
        return None
    bottom_patterns = {values: name_pattern(values) for values in bottoms}
    shortest |= {
        values: pattern for values, pattern in bottom_patterns.items() if pattern.middles in middles and pattern.plain
    }
    wide = {values: with_whole_words(pattern) for values, pattern in shortest.items()}
    return wide if len({pattern.middles for pattern in wide.values()}) == 1 else shortest


def name_pattern(values: Sequence[str]) -> _NamePattern:
    """Return the pattern of names with the shortest middle part."""
    prefix = _common_prefix(values)
    rests = [value[len(prefix) :] for value in values]
    suffix = _common_prefix([rest[::-1] for rest in rests])[::-1]
    return _NamePattern(prefix, tuple(rest[: len(rest) - len(suffix)] for rest in rests), suffix)


def _identifier(text: str) -> str:
    return re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")


def _common_prefix(values: Sequence[str]) -> str:
    """Return the longest common prefix."""
    # A common prefix of the first and the last value is common to all.
    pairs = zip(min(values), max(values), strict=False)
    return "".join(first for first, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def with_whole_words(names: _NamePattern) -> _NamePattern:
    """Return the pattern with a middle part of whole words and numbers, such as `2a` and `2b` instead of `a` and
    `b`."""
    left = len(names.prefix)
    while left and any(_is_within_word(names.prefix[left - 1], middle[:1]) for middle in _middles(names, left)):
        left -= 1
    right = 0
    while right < len(names.suffix) and any(
        _is_within_word(middle[-1:], names.suffix[right]) for middle in _middles(names, left, right)
    ):
        right += 1
    return _NamePattern(names.prefix[:left], tuple(_middles(names, left, right)), names.suffix[right:])


def _middles(names: _NamePattern, left: int, right: int = 0) -> list[str]:
    return [names.prefix[left:] + middle + names.suffix[:right] for middle in names.middles]


def _is_within_word(first: str, second: str) -> bool:
    """Return whether a cut between two characters would split a word, a number, or a number and its letter."""
    return (first.isalpha() and second.isalpha()) or (first.isdigit() and second.isalnum())
