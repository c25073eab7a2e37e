"""The matching of SSD's boxes to objects, and the choice of hard negatives to learn from."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layer.running import can_be_read
from netdsl.layers._boxes import areas, best_first, overlaps, suppressed
from netdsl.layers._loss import classes_of


@dataclass(frozen=True)
class Objects:
    """The objects of a batch. Each image has as many slots as the image with the most objects needs.

    Where finding that number would wait for a GPU, each image has a slot for every object of the batch.
    """

    boxes: Tensor  # images x places x 4
    labels: Tensor  # images x places
    valid: Tensor  # whether the slot contains an object

    @classmethod
    def of(cls, rows: Tensor, images: int, background: int, layer: pb.LayerParameter, *, difficult: bool) -> Objects:
        """Return the objects in rows of image, label, instance, x1, y1, x2, y2, difficult.

        A row whose image is -1 contains no object.
        """
        rows = rows.detach().reshape(-1, 8)
        image = rows[:, 0].long()
        counts = (image >= 0) & (image < images)
        if not difficult:
            counts &= rows[:, 7] == 0
        known = can_be_read(rows)
        if known and bool((counts & (classes_of(rows[:, 1], layer) == background)).any()):
            raise NetError(
                f"an object has label {background}, but background_label_id reserves it for the background; "
                "number the objects' classes from 1 on, or set another background_label_id"
            )
        order, rank = best_first(torch.where(counts, image, images), torch.zeros_like(rows[:, 0]))
        rows, image, counts = rows[order], image[order], counts[order]
        places = int(torch.where(counts, rank, 0).max()) + 1 if known and len(rows) else max(len(rows), 1)
        # One more image collects the rows that don't count.
        at = (torch.where(counts, image, images), rank.clamp_max(places - 1))
        table = rows.new_zeros((images + 1, places, 8)).index_put_(at, rows)[:images]
        valid = torch.zeros((images + 1, places), dtype=torch.bool, device=rows.device).index_put_(at, counts)[:images]
        return cls(table[..., 3:7], table[..., 1].long(), valid)

    def of_class(self, label: int) -> Objects:
        """Return only the objects with one label. They keep their slots."""
        return Objects(self.boxes, self.labels, self.valid & (self.labels == label))


@dataclass(frozen=True)
class Matching:
    """The rule by which boxes are matched to objects."""

    per_prediction: bool
    threshold: float
    inside_only: bool

    def __call__(self, boxes: Tensor, objects: Objects) -> tuple[Tensor, Tensor]:
        """Return the slot of each box's object, and the largest overlap of each box with any object.

        -1 marks an unmatched box and -2 one that is ignored because it crosses the image's border. First each object
        gets the box with the largest overlap, in the order of these overlaps. Then the remaining boxes are matched to
        objects that they overlap enough.
        """
        overlap = overlaps(boxes[..., None, :], objects.boxes[:, None])
        overlap = torch.where((overlap > 1e-6) & objects.valid[:, None], overlap, 0)
        matches = torch.full_like(overlap[..., 0], -1, dtype=torch.long)
        if self.inside_only:
            crosses = ((boxes < 0) | (boxes > 1)).any(-1).expand_as(matches)
            matches[crosses] = -2
            overlap = overlap.masked_fill(crosses[..., None], 0)
        most, place = overlap.max(2)
        _match_each_object(matches, overlap.clone())
        if self.per_prediction:
            matches = torch.where((matches == -1) & (most >= self.threshold) & (most > 0), place, matches)
        return matches, most


def _match_each_object(matches: Tensor, left: Tensor) -> None:
    """Match one box to each object. `left` contains the overlaps that are still available. Both tensors are
    modified."""
    images, places = torch.arange(len(left), device=left.device), left.shape[2]
    for _ in range(places):
        most, at = left.flatten(1).max(1)
        box, place = at // places, at % places
        matches[images, box] = torch.where(most > 0, place, matches[images, box])
        left[images, box] = 0
        left[images, :, place] = 0


@dataclass(frozen=True)
class Suppression:
    """Drops hard examples that overlap harder ones before the choice. Caffe's rule: an unset top_k is 0."""

    threshold: float
    candidates: int

    @classmethod
    def of(cls, p: pb.MultiBoxLossParameter) -> Suppression | None:
        if not p.HasField("nms_param") or p.nms_param.nms_threshold <= 0:
            return None
        return cls(p.nms_param.nms_threshold, p.nms_param.top_k)

    def __call__(self, order: Tensor, eligible: Tensor, boxes: Tensor) -> Tensor:
        """Return which of the eligible boxes survive if each image's boxes come in this order.

        All tensors are images x boxes.
        """
        passes = eligible.gather(1, order)
        if self.candidates >= 0:
            passes &= passes.cumsum(1) <= self.candidates
        passes &= areas(boxes).gather(1, order) >= 1e-5
        image, rank = passes.nonzero(as_tuple=True)
        box = order[image, rank]
        stay = suppressed(boxes[image, box], image, self.threshold)
        left = torch.zeros_like(eligible)
        left[image[stay], box[stay]] = True
        return left


def hardest(losses: Tensor, eligible: Tensor, count: Tensor, boxes: Tensor, suppression: Suppression | None) -> Tensor:
    """Return which boxes of each image are among its `count` largest losses.

    All tensors but `count` are images x boxes.
    """
    order = losses.masked_fill(~eligible, -math.inf).argsort(dim=1, descending=True, stable=True)
    if suppression:
        eligible = suppression(order, eligible, boxes.expand(*losses.shape, 4))
    left = eligible.gather(1, order)
    chosen = left & (left.cumsum(1) <= count[:, None])
    return torch.zeros_like(eligible).scatter_(1, order, chosen)
