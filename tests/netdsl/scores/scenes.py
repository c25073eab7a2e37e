"""Generated scenes: objects, and detections near them, many with equal scores."""

from __future__ import annotations

import numpy as np

from netdsl.scores.boxes import DetectedBoxes, ObjectBoxes
from tests.netdsl.scores.slow_scores import Found, Thing

IMAGES, LABELS = 7, 5  # label 4 has no objects, and label 0 no detections


def scene(seed: int, side: int = 160) -> tuple[list[Found], list[Thing]]:
    """Return boxes in whole pixels. Some images have no objects, and some have no detections."""
    random = np.random.default_rng(seed)
    things, found = [], []
    for _ in range(40):
        image, label = int(random.integers(0, IMAGES - 1)), int(random.integers(0, LABELS - 1))
        box = box_near(random, None, side)
        difficult, crowd = bool(random.random() < 0.2), bool(random.random() < 0.15)
        things.append(Thing(image, label, box, difficult, crowd, float(random.uniform(0.5, 1) * box_size(box))))
    for _ in range(150):
        thing = things[random.integers(len(things))]
        box = box_near(random, thing.box if random.random() < 0.8 else None, side)
        image = thing.image if random.random() < 0.9 else IMAGES - 1
        label = thing.label if random.random() < 0.8 else int(random.integers(1, LABELS))
        if label and image:
            found.append(Found(image, label, float(random.integers(0, 12) / 12), box))
    found += found[:8]  # duplicates of some detections
    return found, things


def box_size(box: tuple[float, float, float, float]) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def box_near(random: np.random.Generator, box: tuple | None, side: int) -> tuple[float, float, float, float]:
    if box is None:
        left, top = random.integers(0, side - 20, 2)
        width, height = random.integers(8, 150, 2)
        return float(left), float(top), float(left + width), float(top + height)
    left, top, right, bottom = (value + int(random.integers(-3, 4)) for value in box)
    return left, top, max(left + 1, right), max(top + 1, bottom)


def detected(found: list[Found]) -> DetectedBoxes:
    rows = [(each.image, each.label, each.score, *each.box) for each in found]
    return DetectedBoxes.of(np.array(rows, np.float64).reshape(-1, 7))


def objects(things: list[Thing], *, crowds: bool = True) -> ObjectBoxes:
    return ObjectBoxes.of(
        np.array([(thing.image, thing.label, *thing.box) for thing in things], np.float64).reshape(-1, 6),
        difficult=[thing.difficult for thing in things],
        crowd=[thing.crowd and crowds for thing in things],
        area=[box_size(thing.box) if thing.area is None else thing.area for thing in things],
    )
