"""Which of SSD's boxes stand for which objects, and which of the others are worth learning from."""

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
    """What the images of a batch show, as many places for each image as the fullest one needs.

    Where one would have to wait to know how full that is, there are places for all objects of the batch.
    """

    boxes: Tensor  # images x places x 4
    labels: Tensor  # images x places
    valid: Tensor  # whether there is an object in that place

    @classmethod
    def of(cls, rows: Tensor, images: int, background: int, layer: pb.LayerParameter, *, difficult: bool) -> Objects:
        """From the rows that a layer reads: image, label, instance, x1, y1, x2, y2, difficult.

        An image of -1 says that there is no object.
        """
        rows = rows.detach().reshape(-1, 8)
        image = rows[:, 0].long()
        counts = (image >= 0) & (image < images)
        if not difficult:
            counts &= rows[:, 7] == 0
        known = can_be_read(rows)
        if known and bool((counts & (classes_of(rows[:, 1], layer) == background)).any()):
            raise NetError(f"an object has label {background}, which background_label_id says is the background's")
        order, rank = best_first(torch.where(counts, image, images), torch.zeros_like(rows[:, 0]))
        rows, image, counts = rows[order], image[order], counts[order]
        places = int(torch.where(counts, rank, 0).max()) + 1 if known and len(rows) else max(len(rows), 1)
        at = torch.where(counts, image, images), rank.clamp_max(places - 1)  # there is an image more, for the others
        table = rows.new_zeros((images + 1, places, 8)).index_put_(at, rows)[:images]
        valid = torch.zeros((images + 1, places), dtype=torch.bool, device=rows.device).index_put_(at, counts)[:images]
        return cls(table[..., 3:7], table[..., 1].long(), valid)

    def of_class(self, label: int) -> Objects:
        """Return only the objects with one label, in their places."""
        return Objects(self.boxes, self.labels, self.valid & (self.labels == label))


@dataclass(frozen=True)
class Matching:
    """How boxes are matched to objects."""

    per_prediction: bool
    threshold: float
    inside_only: bool

    def __call__(self, boxes: Tensor, objects: Objects) -> tuple[Tensor, Tensor]:
        """Return the place of the object that each box stands for, and its overlap with the one it covers most.

        -1 is for none, -2 for a box that is left out since it crosses the image's border. First each object gets the
        box that covers it most, the largest overlap choosing first; then other boxes go to what they cover enough.
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
    """Give each object a box. `left` is the overlaps that can still be chosen; both are changed."""
    images, places = torch.arange(len(left), device=left.device), left.shape[2]
    for _ in range(places):
        most, at = left.flatten(1).max(1)
        box, place = at // places, at % places
        matches[images, box] = torch.where(most > 0, place, matches[images, box])
        left[images, box] = 0
        left[images, :, place] = 0


@dataclass(frozen=True)
class Suppression:
    """Before hard examples are chosen, those that overlap with harder ones go. Caffe's rule: an unset top_k is 0."""

    threshold: float
    candidates: int

    @classmethod
    def of(cls, p: pb.MultiBoxLossParameter) -> Suppression | None:
        if not p.HasField("nms_param") or p.nms_param.nms_threshold <= 0:
            return None
        return cls(p.nms_param.nms_threshold, p.nms_param.top_k)

    def __call__(self, order: Tensor, eligible: Tensor, boxes: Tensor) -> Tensor:
        """Return which of the eligible boxes are left, if in each image they come in this order; all are images x
        boxes."""
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
    """Return which boxes of each image are among its `count` with the largest losses; all but `count` is images x
    boxes."""
    order = losses.masked_fill(~eligible, -math.inf).argsort(dim=1, descending=True, stable=True)
    if suppression:
        eligible = suppression(order, eligible, boxes.expand(*losses.shape, 4))
    left = eligible.gather(1, order)
    chosen = left & (left.cumsum(1) <= count[:, None])
    return torch.zeros_like(eligible).scatter_(1, order, chosen)
