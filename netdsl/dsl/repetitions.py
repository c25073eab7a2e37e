"""Repeated layers of a net, found and replaced by calls of functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from netdsl.dsl.blocks import Block, make_block
from netdsl.dsl.expression import CompoundExpression, Expression, Leaf, LeafKind, with_leaves

_MAX_LAYERS = 40  # layers in a block; a longer function is no easier to read than its layers
_MIN_SAVED = 200  # characters that a function must save; a program that is hardly shorter isn't more readable
_PER_PARAMETER = 40  # characters that each parameter must save, since readers of a call have to know it

Positions = list[int]


def fold_repetitions(
    layers: Sequence[CompoundExpression], used_names: set[str]
) -> tuple[list[Expression], list[Block]]:
    """Replace repeated layers by calls; the result has the layers and calls, and the functions that they call."""
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
    """A number for every layer; layers that differ only in names and numbers have the same one."""
    numbers: dict[Expression, int] = {}
    return [numbers.setdefault(with_leaves(layer, _form), len(numbers)) for layer in layers]


def _form(leaf: Leaf) -> Leaf:
    return leaf if leaf.kind is LeafKind.CODE else Leaf("", leaf.kind)


def _best_block(
    layers: Sequence[CompoundExpression], forms: list[int | None], sizes: list[int], used_names: set[str]
) -> tuple[Block, Positions] | None:
    """The block that saves the most characters, and its positions."""
    best, most_saved = None, _MIN_SAVED - 1
    for most_possible, length, positions in sorted(_repeated_runs(forms, sizes), reverse=True):
        if most_possible <= most_saved:
            break
        block = make_block([layers[position : position + length] for position in positions], used_names)
        if block is None:
            continue
        before = sum(sum(sizes[position : position + length]) for position in positions)
        after = sum(len(line.strip()) for line in block.source()) + sum(map(_size, block.calls()))
        saved = before - after - _PER_PARAMETER * len(block.parameters)
        if saved > most_saved:
            best, most_saved = (block, positions), saved
    return best


def _repeated_runs(forms: list[int | None], sizes: list[int]) -> Iterator[tuple[int, int, Positions]]:
    """Repeated runs of layers of the same forms: the characters that they could save, their length and positions."""
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
