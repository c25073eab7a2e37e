"""Faster R-CNN's three outputs read as boxes: regions, the scores of their classes, and how the boxes are moved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zoo.answers.answer import AnswerSettings, Boxes
from zoo.answers.output import OutputReader, Outputs, boxes_of, finite
from zoo.answers.placement import ImageSize, Numbers, Placement

_NO_SIZE = ImageSize(0, 0)
_OVERLAP = 0.3  # of which the better box stays: Faster R-CNN's own
_LARGEST = np.log(1000 / 16)  # the growth of a box, as a logarithm, beyond which numbers would overflow


@dataclass(frozen=True)
class RegionReader(OutputReader):
    """Reads regions in the net's own pixels, with scores (region, class), background first, and box codes."""

    scores: int = -1  # the edges of the other two outputs
    codes: int = -1
    size: ImageSize = _NO_SIZE

    def read(self, outputs: Outputs, index: int, placement: Placement, settings: AnswerSettings) -> Boxes:
        """The boxes of an image that are sure enough, and that no better one of their class overlaps."""
        regions = finite(outputs[self.edge].reshape(-1, 5))
        mine = regions[:, 0] == index
        scores, codes = (finite(outputs[edge].reshape(len(regions), -1)[mine]) for edge in (self.scores, self.codes))
        rows = []
        for label in range(1, scores.shape[1]):
            own = label if codes.shape[1] == 4 * scores.shape[1] else 1  # or one for all classes behind the background
            sure = scores[:, label] >= settings.threshold
            boxes = _moved(regions[mine][sure, 1:], codes[sure, 4 * own : 4 * own + 4])
            kept = _without_overlaps(boxes, scores[sure, label])
            rows += [(label, scores[sure, label][place], *boxes[place]) for place in kept]
        found = np.array(rows, np.float64).reshape(-1, 6)
        found[:, 2:] /= (self.size.width, self.size.height) * 2
        return boxes_of(found, self.names, placement)


def _moved(boxes: Numbers, codes: Numbers) -> Numbers:
    """Boxes moved and stretched by their codes; the last pixels belong to a box."""
    sizes = boxes[:, 2:] - boxes[:, :2] + 1
    centres = boxes[:, :2] + sizes / 2 + codes[:, :2] * sizes
    sizes = sizes * np.exp(np.minimum(codes[:, 2:], _LARGEST))
    return np.concatenate([centres - sizes / 2, centres + sizes / 2], 1)


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
    common = np.maximum(sides, 0).prod(1)
    overlaps: Numbers = common / ((box[2:] - box[:2]).prod() + (others[:, 2:] - others[:, :2]).prod(1) - common)
    return overlaps
