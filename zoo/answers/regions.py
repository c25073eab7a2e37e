"""Faster R-CNN's three outputs read as boxes: regions, the scores of their classes, and how the boxes are moved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zoo.answers.answer import AnswerSettings, Box, Boxes
from zoo.answers.output import OutputReader, Outputs, finite
from zoo.answers.placement import Corners, ImageSize, Numbers, Placement

_OVERLAP = 0.3  # of which the better box stays: Faster R-CNN's own
_LARGEST = np.log(1000 / 16)  # the growth of a box, as a logarithm, beyond which numbers would overflow


@dataclass(frozen=True)
class RegionReader(OutputReader):
    """Reads regions in the net's own pixels, with scores (region, class), background first, and box codes.

    Boxes count pixels, as py-faster-rcnn's do, and end at their last one; those of the answer end behind it.
    """

    LEAST_SCORE = 0.05

    scores: int = -1  # the edges of the other two outputs
    codes: int = -1

    def read(self, outputs: Outputs, index: int, placement: Placement, settings: AnswerSettings) -> Boxes:
        """The boxes of an image that are sure enough, and that no better one of their class overlaps."""
        regions = finite(outputs[self.edge].reshape(-1, 5))
        mine = regions[:, 0] == index
        scores, codes = (finite(outputs[edge].reshape(len(regions), -1)[mine]) for edge in (self.scores, self.codes))
        regions = placement.boxes_on_image(regions[mine, 1:])
        found = list[Box]()
        for label in range(1, scores.shape[1]):
            own = label if codes.shape[1] == 4 * scores.shape[1] else 1  # or one for all classes behind the background
            sure = scores[:, label] >= settings.threshold
            boxes = _within(_moved(regions[sure], codes[sure, 4 * own : 4 * own + 4]), placement.image)
            kept = _without_overlaps(boxes, scores[sure, label])
            edges = (boxes[kept] + [0, 0, 1, 1]).tolist()
            pairs = zip(scores[sure, label][kept].tolist(), edges, strict=True)
            found += [Box(label, self.names[label], score, Corners(*corners)) for score, corners in pairs]
        return Boxes(tuple(sorted(found, key=lambda box: -box.score)))


def _moved(boxes: Numbers, codes: Numbers) -> Numbers:
    """Boxes moved and stretched by their codes; the last pixels belong to a box."""
    sizes = boxes[:, 2:] - boxes[:, :2] + 1
    centres = boxes[:, :2] + sizes / 2 + codes[:, :2] * sizes
    sizes = sizes * np.exp(np.minimum(codes[:, 2:], _LARGEST))
    return np.concatenate([centres - sizes / 2, centres + sizes / 2], 1)


def _within(boxes: Numbers, image: ImageSize) -> Numbers:
    """Boxes without what lies beyond the image."""
    return np.clip(boxes, 0, np.array([image.width, image.height] * 2) - 1)


def _without_overlaps(boxes: Numbers, scores: Numbers) -> list[int]:
    """The places of boxes that no better one overlaps, from the best on."""
    order, kept = np.argsort(-scores, kind="stable"), list[int]()
    while len(order):
        best, others = order[0], order[1:]
        kept.append(int(best))
        order = others[_overlaps(boxes[best], boxes[others]) <= _OVERLAP]
    return kept


def _overlaps(box: Numbers, others: Numbers) -> Numbers:
    """The common area of a box and each of others, as a part of what they cover together."""
    sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    common = np.maximum(sides + 1, 0).prod(1)
    areas = (others[:, 2:] - others[:, :2] + 1).prod(1)
    overlaps: Numbers = common / ((box[2:] - box[:2] + 1).prod() + areas - common)
    return overlaps
