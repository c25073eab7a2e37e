"""The same scores in the simplest way: box by box and pixel by pixel."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import NamedTuple

import numpy as np

OVERLAPS = np.linspace(0.5, 0.95, 10).tolist()  # the ninth is slightly less than 0.9

Corners = tuple[float, float, float, float]


class Found(NamedTuple):
    image: int
    label: int
    score: float
    box: Corners


class Thing(NamedTuple):
    image: int
    label: int
    box: Corners
    difficult: bool = False
    crowd: bool = False
    area: float | None = None


def area(box: Corners, pixel: float = 0) -> float:
    return (box[2] - box[0] + pixel) * (box[3] - box[1] + pixel)


def shared(one: Corners, other: Corners, pixel: float = 0) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0]) + pixel
    height = min(one[3], other[3]) - max(one[1], other[1]) + pixel
    return max(0.0, width) * max(0.0, height)


def overlap(one: Corners, other: Corners, pixel: float = 0, *, crowd: bool = False) -> float:
    both = shared(one, other, pixel)
    either = area(one, pixel) if crowd else area(one, pixel) + area(other, pixel) - both
    return both / either if either > 0 else 0.0


def voc(found: list[Found], things: list[Thing], label: int, points: int | None, pixel: float = 1) -> float | None:
    """Return VOC's average precision of a class, with this many points or as an integral."""
    things = [thing for thing in things if thing.label == label]
    needed = sum(not thing.difficult for thing in things)
    if not needed:
        return None
    used, marks = set(), []
    for each in sorted((each for each in found if each.label == label), key=lambda each: -each.score):
        best, place = -math.inf, -1
        for index, thing in enumerate(things):
            if thing.image == each.image and overlap(each.box, thing.box, pixel) > best:
                best, place = overlap(each.box, thing.box, pixel), index
        if best <= 0.5:
            marks.append(False)
        elif not things[place].difficult:
            marks.append(place not in used)
            used.add(place)
    return mean_of_points(marks, needed, points)


def curve(marks: list[bool], needed: int) -> list[tuple[float, float]]:
    """Return the recall and the precision after each detection."""
    return [(sum(marks[:end]) / needed, sum(marks[:end]) / end) for end in range(1, len(marks) + 1)]


def mean_of_points(marks: list[bool], needed: int, points: int | None) -> float:
    rows = curve(marks, needed)
    if points is None:
        total, last = 0.0, 0.0
        for recall, _ in rows:
            total += (recall - last) * max(precision for other, precision in rows if other >= recall)
            last = recall
        return total
    values = []
    for point in range(points):
        level = point * 0.1 if points == 11 else point * 0.01
        values.append(max((precision for recall, precision in rows if recall >= level), default=0.0))
    return sum(values) / points


def coco(found: list[Found], things: list[Thing], low: float, high: float, most: int) -> dict[int, tuple[list, list]]:
    """Return the precision and the recall for each overlap, for every class with objects of a size."""
    result = {}
    for label in sorted({thing.label for thing in things}):
        own = [thing for thing in things if thing.label == label]
        needless = {
            index: thing.crowd
            or thing.difficult
            or not low <= (area(thing.box) if thing.area is None else thing.area) <= high
            for index, thing in enumerate(own)
        }
        needed = sum(not flag for flag in needless.values())
        if needed:
            result[label] = _coco_class(
                [each for each in found if each.label == label], own, needless, needed, low, high, most
            )
    return result


def _coco_class(found, things, needless, needed, low, high, most) -> tuple[list, list]:
    by_image = defaultdict(list)
    for each in found:
        by_image[each.image].append(each)
    precisions, recalls = [], []
    for step in range(10):
        least, marks = OVERLAPS[step], []
        for image in sorted(by_image):
            used = set()
            for each in sorted(by_image[image], key=lambda each: -each.score)[:most]:
                place = _coco_match(each, things, needless, used, least)
                if place is not None:
                    used.add(place)
                    if not needless[place]:
                        marks.append((each.score, True))
                elif low <= area(each.box) <= high:
                    marks.append((each.score, False))
        ordered = [right for _, right in sorted(marks, key=lambda mark: -mark[0])]
        precisions.append(mean_of_points(ordered, needed, 101))
        recalls.append(sum(ordered) / needed)
    return precisions, recalls


def _coco_match(each: Found, things, needless, used, least: float) -> int | None:
    for wanted in (False, True):
        best, place = least, None
        for index, thing in enumerate(things):
            if thing.image != each.image or needless[index] is not wanted or (index in used and not thing.crowd):
                continue
            value = overlap(each.box, thing.box, crowd=thing.crowd)
            if value >= best:
                best, place = value, index
        if place is not None:
            return place
    return None
