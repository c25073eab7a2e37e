"""Which of SSD's boxes stand for which objects, and which of the others are worth learning from."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layers._boxes import areas, best_first, overlaps, suppressed
from netdsl.layers._labels import can_be_checked, classes_of


@dataclass(frozen=True)
class Objects:
    """What the images of a batch show, as many places for each image as the fullest one needs."""

    boxes: Tensor  # images x places x 4
    labels: Tensor  # images x places
    valid: Tensor  # whether there is an object in that place

    @classmethod
    def of(cls, rows: Tensor, images: int, background: int, *, difficult: bool) -> Objects:
        """From rows of (image, label, instance, x1, y1, x2, y2, difficult); an image of -1 says that there is none."""
        rows = rows.detach().reshape(-1, 8)
        image = rows[:, 0].long()
        counts = (image >= 0) & (image < images)
        if not difficult:
            counts &= rows[:, 7] == 0
        rows, image = rows[counts], image[counts]
        if can_be_checked(rows) and bool((classes_of(rows[:, 1]) == background).any()):
            raise NetError(f"an object has label {background}, which background_label_id says is the background's")
        order, rank = best_first(image, torch.zeros_like(rows[:, 0]))
        places = int(rank.max()) + 1 if len(rank) else 1
        table = rows.new_zeros((images, places, 8))
        table[image[order], rank] = rows[order]
        valid = torch.zeros(table.shape[:2], dtype=torch.bool, device=rows.device)
        valid[image[order], rank] = True
        return cls(table[..., 3:7], table[..., 1].long(), valid)

    def of_class(self, label: int) -> Objects:
        """Only the objects with one label, in their places."""
        return Objects(self.boxes, self.labels, self.valid & (self.labels == label))


@dataclass(frozen=True)
class Matching:
    """How boxes are matched to objects."""

    per_prediction: bool
    threshold: float
    inside_only: bool

    def __call__(self, boxes: Tensor, objects: Objects) -> tuple[Tensor, Tensor]:
        """The place of the object that each box stands for, and its overlap with the one it covers most.

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


def hardest(losses: Tensor, eligible: Tensor, count: Tensor, boxes: Tensor, suppression: Suppression | None) -> Tensor:
    """Which boxes of each image are among its `count` with the largest losses; all but `count` is images x boxes."""
    image, box = eligible.nonzero(as_tuple=True)
    order, rank = best_first(image, losses[eligible])
    image, box = image[order], box[order]
    if suppression:
        corners = boxes.expand(*losses.shape, 4)[image, box]
        passes = areas(corners) >= 1e-5
        if suppression.candidates >= 0:
            passes &= rank < suppression.candidates
        image, box = image[passes], box[passes]
        stay = suppressed(corners[passes], image, suppression.threshold)
        image, box = image[stay], box[stay]
        rank = best_first(image, torch.zeros_like(corners[: len(image), 0]))[1]
    chosen = torch.zeros_like(eligible)
    chosen[image, box] = rank < count[image]
    return chosen
