"""Summary of a source: how many items it has, and what the first ones are like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from netdsl.data.sources.source import Item, Source
from netdsl.data.types import Array


@dataclass(frozen=True)
class TopSummary:
    """The types and shapes of one array of the items, most common first."""

    types: list[str]
    shapes: list[tuple[int, ...]]


@dataclass(frozen=True)
class SourceSummary:
    """The number of items, and of the first `seen` items the arrays and how often each label occurs."""

    items: int
    seen: int
    arrays: list[TopSummary]
    labels: dict[str, int]


def first_items(source: Source, count: int) -> list[Item]:
    """The first items of a source, at most `count`."""
    return [source.item(source.fetch(index)) for index in range(min(count, len(source)))]


def summarise(source: Source, items: Sequence[Item]) -> SourceSummary:
    """Summarise a source by its first items."""
    arrays = [_summarise_top(column) for column in zip(*items, strict=True)]
    labels = Counter(item[1].item() for item in items if len(item) > 1 and item[1].size == 1)
    return SourceSummary(len(source), len(items), arrays, {f"{label:g}": labels[label] for label in sorted(labels)})


def _summarise_top(column: Sequence[Array]) -> TopSummary:
    types, shapes = Counter(str(array.dtype) for array in column), Counter(array.shape for array in column)
    return TopSummary([name for name, _ in types.most_common()], [shape for shape, _ in shapes.most_common()])
