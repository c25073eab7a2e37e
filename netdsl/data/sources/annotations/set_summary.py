"""Summary of a set of images with marked objects: how many there are of what, and what looks like a mistake."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, AnnotatedSet, MarkedObject
from netdsl.data.sources.class_names import classes_of
from netdsl.errors import DataError

_SMALL, _MEDIUM = 32**2, 96**2  # pixels of the largest boxes that COCO calls so


@dataclass(frozen=True)
class ImageSizeCount:
    """How many images have a size."""

    height: int
    width: int
    images: int


@dataclass
class ClassCounts:
    """How many boxes a class has, and in how many images."""

    name: str
    boxes: int = 0
    images: int = 0


@dataclass
class AnnotatedSummary:
    """Counts of images and objects. `sizes` are those of images, most common first; `bad` says what can't be read.

    Boxes are small, medium or large by their area, as COCO counts them. Those that go on outside of their image, or
    have no area, may be mistakes. `class_maps` are images in which the classes of pixels are known.
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
    class_maps: int = 0
    outside: int = 0
    without_area: int = 0
    bad: list[str] = field(default_factory=list)


def summarise_set(annotated: AnnotatedSet, *, done: Callable[[], object] = lambda: None) -> AnnotatedSummary:
    """Summarise a set by all of its images. `done` is called for each."""
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
        _count_box(marked, image, summary)


def _count_box(marked: MarkedObject, image: AnnotatedImage, summary: AnnotatedSummary) -> None:
    left, top, right, bottom = marked.edges
    area = (right - left) * (bottom - top)
    summary.small += area <= _SMALL
    summary.medium += _SMALL < area <= _MEDIUM
    summary.large += area > _MEDIUM
    summary.without_area += area == 0
    summary.outside += left < 0 or top < 0 or right > image.width or bottom > image.height
