"""What a source has in it, as `zoo data show` shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from netdsl.data.sources.source import Array, Item, Source


@dataclass(frozen=True)
class Tops:
    """The arrays that items have in one place: their types and the sizes that occur, most common first."""

    types: list[str]
    shapes: list[tuple[int, ...]]


@dataclass(frozen=True)
class SourceSummary:
    """How many items there are, and what the first `seen` of them are like."""

    items: int
    seen: int
    arrays: list[Tops]
    labels: dict[str, int]


def first_items(source: Source, count: int) -> list[Item]:
    """The items that a summary and a sheet are made of."""
    return [source.item(source.fetch(index)) for index in range(min(count, len(source)))]


def summarise(source: Source, items: Sequence[Item]) -> SourceSummary:
    """What is known of a source from its first items."""
    arrays = [_tops(column) for column in zip(*items, strict=True)]
    labels = Counter(item[1].item() for item in items if len(item) > 1 and item[1].size == 1)
    return SourceSummary(len(source), len(items), arrays, {f"{label:g}": labels[label] for label in sorted(labels)})


def _tops(column: Sequence[Array]) -> Tops:
    types, shapes = Counter(str(array.dtype) for array in column), Counter(array.shape for array in column)
    return Tops([name for name, _ in types.most_common()], [shape for shape, _ in shapes.most_common()])
