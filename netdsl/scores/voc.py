"""VOC's rule for correct detections: the best detection of each object that it overlaps enough."""

from __future__ import annotations

import numpy as np

from netdsl.scores.boxes import BoxPairs, DetectedBoxes, Integers, Numbers, ObjectBoxes
from netdsl.scores.precision import JudgedDetections


def judge_as_voc(
    detected: DetectedBoxes, objects: ObjectBoxes, *, least_overlap: float = 0.5, pixel: float = 1
) -> JudgedDetections:
    """Judge detections by the object with the largest overlap in their image and label.

    VOC's rules: the overlap must be more than `least_overlap`. Of several detections of an object, the first with the
    highest score is right and the others are wrong. A detection of a difficult object or a crowd is neither. Boxes in
    pixels include their last pixel. For boxes in fractions of an image, `pixel` is 0.
    """
    needless = objects.difficult | objects.crowd
    order = np.argsort(-detected.score, kind="stable")
    detected = detected.take(order)
    overlap, place = _most_overlapped(detected, objects, pixel)
    near = overlap > least_overlap
    counted = near & ~np.append(needless, True)[place]
    right = np.zeros(len(detected), np.bool_)
    candidates = np.flatnonzero(counted)
    right[candidates[np.unique(place[candidates], return_index=True)[1]]] = True
    labels = np.union1d(objects.label, detected.label).tolist()
    counts = {label: int((objects.label[~needless] == label).sum()) for label in labels}
    return JudgedDetections(detected.label, detected.score, right, ~near | (counted & ~right), counts)


def _most_overlapped(detected: DetectedBoxes, objects: ObjectBoxes, pixel: float) -> tuple[Numbers, Integers]:
    """Return the largest overlap of each detection, and the first object with that overlap.

    Both are -1 without an object.
    """
    pairs = BoxPairs.of(detected, objects)
    overlaps = pairs.overlaps(detected, objects, pixel)
    best = np.lexsort((-overlaps, pairs.detection))  # among equal overlaps, the first object comes first
    owner, first = np.unique(pairs.detection[best], return_index=True)
    overlap, place = np.full(len(detected), -1.0), np.full(len(detected), -1)
    overlap[owner], place[owner] = overlaps[best[first]], pairs.object[best[first]]
    return overlap, place
