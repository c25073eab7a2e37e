"""Summaries of data: items and their labels, or images and their objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, AnnotatedSet, MarkedObject
from netdsl.data.sources.class_names import classes_of
from netdsl.data.sources.source import Item, LabeledSource, Source
from netdsl.data.types import Array
from netdsl.errors import DataError

_EXAMPLES = 64  # items that are examined by default
_SAMPLED = 1000  # items that are read for their labels if a source can't state them
_SMALL, _MEDIUM = 32**2, 96**2  # the largest areas, in pixels, of boxes that COCO calls small and medium


@dataclass(frozen=True)
class TopSummary:
    """The types and shapes of one of the items' arrays, most common first."""

    types: list[str]
    shapes: list[tuple[int, ...]]


@dataclass(frozen=True)
class SourceSummary:
    """The number of items, the names of classes, and the arrays and labels of `seen` examples.

    `labels` counts how often each label occurs.
    """

    items: int
    classes: list[str]
    seen: int
    arrays: list[TopSummary]
    labels: dict[str, int]


def example_items(source: Source, count: int | None = None) -> list[Item]:
    """Return at most `count` items of a source, in its order, with about the same number from each class.

    The default is 64 items, or one for each named class if there are more classes. If the source can't state labels,
    the examples come from a thousand items, spread over the whole source.
    """
    count = max(_EXAMPLES, len(classes_of(source))) if count is None else count
    labels = source.labels() if isinstance(source, LabeledSource) else None
    if labels is not None:
        indices = np.arange(len(source))
    else:
        indices = np.unique(np.linspace(0, len(source) - 1, min(len(source), _SAMPLED)).astype(np.int64))
        sampled = [_label(source.item(source.fetch(index))) for index in indices.tolist()]
        labels = np.array([0.0 if label is None else label for label in sampled])
    return [source.item(source.fetch(index)) for index in sorted(indices[_of_every_class(labels, count)].tolist())]


def _of_every_class(labels: Array, count: int) -> list[int]:
    """Return the places of this many examples: the first of every class, then the second of each, and so on."""
    seen, turns = Counter[float](), list[tuple[int, int]]()
    for place, label in enumerate(labels.tolist()):
        turns.append((seen[label], place))
        seen[label] += 1
    return [place for _, place in sorted(turns)[:count]]


def _label(item: Item) -> float | None:
    """Return the label of an item, or `None` unless it is a single number."""
    return item[1].item() if len(item) > 1 and item[1].size == 1 else None


def summarize(source: Source, items: Sequence[Item]) -> SourceSummary:
    """Summarize a source by some of its items."""
    arrays = [_summarize_top(column) for column in zip(*items, strict=True)]
    labels = Counter(label for item in items if (label := _label(item)) is not None)
    counts = {f"{label:g}": labels[label] for label in sorted(labels)}
    return SourceSummary(len(source), list(classes_of(source)), len(items), arrays, counts)


def _summarize_top(column: Sequence[Array]) -> TopSummary:
    types, shapes = Counter(str(array.dtype) for array in column), Counter(array.shape for array in column)
    return TopSummary([name for name, _ in types.most_common()], [shape for shape, _ in shapes.most_common()])


@dataclass(frozen=True)
class ImageSizeCount:
    """The number of images with a size."""

    height: int
    width: int
    images: int


@dataclass
class ClassCounts:
    """The number of boxes of a class, and the number of images that contain them."""

    name: str
    boxes: int = 0
    images: int = 0


@dataclass
class AnnotatedSummary:
    """Counts of images and objects. `sizes` lists the sizes of images, most common first. `bad` lists errors.

    Boxes are small, medium or large by their area, as in COCO. Boxes that extend beyond their image, or have no area,
    may be mistakes. `class_maps` counts images in which the classes of pixels are known.
    """

    images: int = 0
    without_objects: int = 0
    sizes: list[ImageSizeCount] = field(default_factory=list)
    classes: list[ClassCounts] = field(default_factory=list)
    objects: int = 0
    small: int = 0
    medium: int = 0
    large: int = 0
    difficult: int = 0
    truncated: int = 0
    crowds: int = 0
    with_masks: int = 0
    with_joints: int = 0
    class_maps: int = 0
    outside: int = 0
    without_area: int = 0
    bad: list[str] = field(default_factory=list)


def summarize_set(annotated: AnnotatedSet, *, done: Callable[[], object] = lambda: None) -> AnnotatedSummary:
    """Summarize a set by all of its images. `done` is called for each image."""
    summary = AnnotatedSummary(len(annotated), classes=[ClassCounts(name) for name in classes_of(annotated)[1:]])
    sizes: Counter[tuple[int, int]] = Counter()
    for index in range(len(annotated)):
        done()
        try:
            image = annotated.image(index)
        except DataError as problem:
            summary.bad.append(str(problem))
            continue
        sizes[image.height, image.width] += 1
        _count(image, summary)
    summary.sizes = [ImageSizeCount(*size, count) for size, count in sizes.most_common()]
    return summary


def _count(image: AnnotatedImage, summary: AnnotatedSummary) -> None:
    summary.without_objects += not image.objects
    summary.objects += len(image.objects)
    summary.class_maps += image.class_map is not None
    for label in {marked.label for marked in image.objects}:
        summary.classes[label - 1].images += 1
    for marked in image.objects:
        summary.classes[marked.label - 1].boxes += 1
        summary.difficult += marked.difficult and not marked.crowd
        summary.truncated += marked.truncated
        summary.crowds += marked.crowd
        summary.with_masks += bool(marked.outlines or marked.runs or image.object_map)
        summary.with_joints += marked.has_joints
        _count_box(marked, image, summary)


def _count_box(marked: MarkedObject, image: AnnotatedImage, summary: AnnotatedSummary) -> None:
    left, top, right, bottom = marked.edges
    area = (right - left) * (bottom - top)
    summary.small += area <= _SMALL
    summary.medium += _SMALL < area <= _MEDIUM
    summary.large += area > _MEDIUM
    summary.without_area += area == 0
    summary.outside += left < 0 or top < 0 or right > image.width or bottom > image.height
