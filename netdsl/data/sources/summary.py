"""Summary of a source: how many items it has, and what examples of all classes are like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from netdsl.data.sources.class_names import classes_of
from netdsl.data.sources.source import Item, LabelledSource, Source
from netdsl.data.types import Array

_EXAMPLES = 64  # items that are looked at, unless somebody says how many
_SAMPLED = 1000  # items whose labels are looked at where a source knows them only by reading its items


@dataclass(frozen=True)
class TopSummary:
    """The types and shapes of one array of the items, most common first."""

    types: list[str]
    shapes: list[tuple[int, ...]]


@dataclass(frozen=True)
class SourceSummary:
    """The number of items, the names of classes, and of `seen` examples the arrays and how often each label occurs."""

    items: int
    classes: list[str]
    seen: int
    arrays: list[TopSummary]
    labels: dict[str, int]


def example_items(source: Source, count: int | None = None) -> list[Item]:
    """Items of a source in its order, of every class about as many, at most `count`.

    Without a count there are 64, or as many as there are classes with names. Where only the items themselves have the
    labels, classes are looked for among a thousand items from all over the source.
    """
    count = max(_EXAMPLES, len(classes_of(source))) if count is None else count
    labels = source.labels() if isinstance(source, LabelledSource) else None
    if labels is not None:
        indices = np.arange(len(source))
    else:
        indices = np.unique(np.linspace(0, len(source) - 1, min(len(source), _SAMPLED)).astype(np.int64))
        sampled = [_label(source.item(source.fetch(index))) for index in indices.tolist()]
        labels = np.array([0.0 if label is None else label for label in sampled])
    return [source.item(source.fetch(index)) for index in sorted(indices[_of_every_class(labels, count)].tolist())]


def _of_every_class(labels: Array, count: int) -> list[int]:
    """The places of so many examples: the first of every class, then the second of each, and so on."""
    seen, turns = Counter[float](), list[tuple[int, int]]()
    for place, label in enumerate(labels.tolist()):
        turns.append((seen[label], place))
        seen[label] += 1
    return [place for _, place in sorted(turns)[:count]]


def _label(item: Item) -> float | None:
    """The label of an item, if it is one number."""
    return item[1].item() if len(item) > 1 and item[1].size == 1 else None


def summarise(source: Source, items: Sequence[Item]) -> SourceSummary:
    """Summarise a source by some of its items."""
    arrays = [_summarise_top(column) for column in zip(*items, strict=True)]
    labels = Counter(label for item in items if (label := _label(item)) is not None)
    counts = {f"{label:g}": labels[label] for label in sorted(labels)}
    return SourceSummary(len(source), list(classes_of(source)), len(items), arrays, counts)


def _summarise_top(column: Sequence[Array]) -> TopSummary:
    types, shapes = Counter(str(array.dtype) for array in column), Counter(array.shape for array in column)
    return TopSummary([name for name, _ in types.most_common()], [shape for shape, _ in shapes.most_common()])
