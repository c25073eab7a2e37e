"""Finds the layers of a net that repeat, and makes functions of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from netdsl.dsl.blocks import Block, block_of
from netdsl.dsl.expression import BracketKind, CompoundExpression, Expression, Leaf, with_leaves

_LONGEST = 40  # layers in a block; a longer function is no easier to read than its layers
_WORTH = 200  # characters that a function must save: what is shorter but hardly so isn't more readable
_PER_PARAMETER = 40  # those that a parameter must save, since whoever reads a call must know what it is

Places = list[int]


def fold(layers: Sequence[CompoundExpression], taken: set[str]) -> tuple[list[Expression], list[Block]]:
    """The layers with calls in the place of those that repeat, and the functions that these call."""
    taken, forms = set(taken), _forms(layers)
    sizes = [_size(layer) for layer in layers]
    blocks: list[Block] = []
    calls: dict[int, tuple[CompoundExpression, int]] = {}  # where a call stands, and how many layers it is for
    while found := _best(layers, forms, sizes, taken):
        block, places = found
        blocks.append(block)
        taken.add(block.name)
        for place, call in zip(places, block.calls(), strict=True):
            calls[place] = call, len(block.layers)
            forms[place : place + len(block.layers)] = [None] * len(block.layers)
    return list(_with_calls(layers, calls)), blocks


def _with_calls(
    layers: Sequence[CompoundExpression], calls: dict[int, tuple[CompoundExpression, int]]
) -> Iterator[Expression]:
    place = 0
    while place < len(layers):
        call, length = calls.get(place, (layers[place], 1))
        yield call
        place += length


def _size(expression: Expression) -> int:
    return len(str(expression))


def _forms(layers: Sequence[CompoundExpression]) -> list[int | None]:
    """A number for every layer: the same for layers that only names and numbers tell apart."""
    numbers: dict[Expression, int] = {}
    return [numbers.setdefault(with_leaves(layer, _form), len(numbers)) for layer in layers]


def _form(leaf: Leaf) -> Leaf:
    return leaf if leaf.kind is BracketKind.CODE else Leaf("", leaf.kind)


def _best(
    layers: Sequence[CompoundExpression], forms: list[int | None], sizes: list[int], taken: set[str]
) -> tuple[Block, Places] | None:
    """The block that saves the most characters, and where it stands."""
    best, most = None, _WORTH - 1
    for bound, length, places in sorted(_repeated(forms, sizes), reverse=True):
        if bound <= most:
            break
        block = block_of([layers[place : place + length] for place in places], taken)
        if block is None:
            continue
        before = sum(sum(sizes[place : place + length]) for place in places)
        after = sum(len(line.strip()) for line in block.source()) + sum(map(_size, block.calls()))
        saved = before - after - _PER_PARAMETER * len(block.parameters)
        if saved > most:
            best, most = (block, places), saved
    return best


def _repeated(forms: list[int | None], sizes: list[int]) -> Iterator[tuple[int, int, Places]]:
    """Runs of layers whose forms repeat: how many characters they could save, how long they are, where they begin."""
    for length in range(2, min(_LONGEST, len(forms) // 2) + 1):
        found: defaultdict[tuple[int | None, ...], Places] = defaultdict(list)
        for place in range(len(forms) - length + 1):
            form = tuple(forms[place : place + length])
            if None not in form and (not found[form] or found[form][-1] + length <= place):
                found[form].append(place)
        for places in found.values():
            if len(places) > 1:
                before = sum(sum(sizes[place : place + length]) for place in places)
                yield before - sum(sizes[places[0] : places[0] + length]) - len(places), length, places
