"""Images with regions as py-faster-rcnn has them: boxes count pixels from 0, and end at their last pixel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, Edges
from netdsl.data.transforms.resizing import COLOUR_MEANS, LONGEST
from netdsl.layer.target_units import TargetUnits
from netdsl.layers._boxes import areas, overlaps
from netdsl.layers._region_targets import Numbers, RegionSettings, box_classes
from netdsl.layers._rpn import pixel_targets

_MIRRORED = (-1.0, 1.0, 1.0, 1.0)  # what box targets are multiplied by where left and right are exchanged
_CROWDED = 0.7  # the part of a region in a crowd from which on it isn't learned from


@dataclass(frozen=True)
class RoISettings(RegionSettings):
    """More of py-faster-rcnn's settings, and the name of the data, which it has from its command line.

    `scales` are sizes of an image's shorter side, one of which is taken by chance, unless the longer one gets more than
    `max_size`. `agnostic` is R-FCN's: boxes are learned for objects of all classes alike.
    """

    source: str = ""
    scales: Numbers = (600,)
    max_size: float = LONGEST
    ims_per_batch: int = 2
    use_flipped: bool = True
    use_diff: bool = False
    aspect_grouping: bool = True
    bbox_thresh: float = 0.5
    agnostic: bool = False
    pixel_means: Numbers = COLOUR_MEANS


@dataclass(frozen=True)
class Regions:
    """The regions of an image, its objects first.

    `overlap` is the largest one with an object, and `label` and `target` are the class and the box of that object.
    Regions in crowds have an overlap of -1, so that they are neither objects nor background.
    """

    boxes: Tensor
    overlap: Tensor
    labels: Tensor
    targets: Tensor


@dataclass(frozen=True)
class RoIImage:
    """An image with the boxes of its objects, their classes, the boxes of crowds, and proposed regions."""

    image: AnnotatedImage = field(repr=False)
    objects: Tensor
    labels: Tensor
    crowds: Tensor
    proposals: Tensor
    flipped: bool = False

    @classmethod
    def of(cls, image: AnnotatedImage, proposals: Tensor, *, difficult: bool) -> RoIImage:
        """The image with its objects, of which the difficult ones are left out unless they are asked for."""
        boxes, labels, crowds = list[list[float]](), list[int](), list[list[float]]()
        for each in image.objects:
            box = _pixels(each.edges, image)
            if box[2] < box[0] or box[3] < box[1] or each.area == 0:
                continue
            if each.crowd:
                crowds.append(box)
            elif difficult or not each.difficult:
                boxes.append(box)
                labels.append(each.label)
        return cls(image, _rows(boxes), torch.tensor(labels, dtype=torch.long), _rows(crowds), proposals)

    def mirrored(self) -> RoIImage:
        """The same image with left and right exchanged."""
        objects, crowds, proposals = (
            _mirrored(boxes, self.image.width) for boxes in (self.objects, self.crowds, self.proposals)
        )
        return replace(self, objects=objects, crowds=crowds, proposals=proposals, flipped=not self.flipped)

    @property
    def wide(self) -> bool:
        """Whether it is at least as wide as high."""
        return self.image.width >= self.image.height

    def regions(self) -> Regions:
        """What may be learned of the image's objects and of its proposed regions."""
        boxes = torch.cat((self.objects, self.proposals))
        if not len(self.objects):
            overlap, labels, targets = boxes.new_zeros(len(boxes)), torch.zeros(len(boxes), dtype=torch.long), boxes
        else:
            most, nearest = overlaps(boxes[:, None].double(), self.objects.double(), pixel=1).max(1)
            overlap, labels, targets = most.to(boxes), self.labels[nearest] * (most > 0), self.objects[nearest]
        overlap[len(self.objects) :][_in_crowd(self.proposals, self.crowds)] = -1
        return Regions(boxes, overlap, labels, targets)

    def usable(self, settings: RoISettings) -> bool:
        """py-faster-rcnn's rule: whether a region of the image can be an object or background."""
        s = settings
        if len(self.objects) and s.fg_thresh <= 1:
            return True
        overlap = self.regions().overlap
        background = (overlap < s.bg_thresh_hi) & (overlap >= s.bg_thresh_lo)
        return bool(((overlap >= s.fg_thresh) | background).any())


def _pixels(edges: Edges, image: AnnotatedImage) -> list[float]:
    """A box within its image, cut to whole pixels as py-faster-rcnn's are."""
    left, top = max(edges.left, 0), max(edges.top, 0)
    right, bottom = min(edges.right, image.width) - 1, min(edges.bottom, image.height) - 1
    return [float(np.floor(side)) for side in (left, top, right, bottom)]


def _rows(boxes: list[list[float]]) -> Tensor:
    return torch.tensor(boxes, dtype=torch.float32).reshape(-1, 4)


def _mirrored(boxes: Tensor, width: int) -> Tensor:
    left, top, right, bottom = boxes.unbind(1)
    return torch.stack((width - 1 - right, top, width - 1 - left, bottom), 1)


def _in_crowd(regions: Tensor, crowds: Tensor) -> Tensor:
    """Whether so much of each region is in one crowd that it may show objects which nobody marked."""
    if not len(crowds):
        return torch.zeros(len(regions), dtype=torch.bool)
    corner = torch.maximum(regions[:, None, :2], crowds[:, :2])
    end = torch.minimum(regions[:, None, 2:], crowds[:, 2:])
    common = areas(torch.cat((corner, end), -1), pixel=1)
    return (common / areas(regions, pixel=1)[:, None] > _CROWDED).any(1)


def target_statistics(images: Sequence[RoIImage], settings: RoISettings, classes: int, *, flipped: bool) -> TargetUnits:
    """The means and deviations of the box targets of each class, over all regions that are objects.

    A class whose targets are all the same, or which has none, has a deviation of 1.
    """
    counts, sums, squares = (torch.zeros(classes, numbers, dtype=torch.double) for numbers in (1, 4, 4))
    for image in images:
        regions = image.regions()
        positive = (regions.overlap >= settings.bbox_thresh) & (regions.labels > 0)
        targets = pixel_targets(regions.boxes[positive], regions.targets[positive]).double()
        rows = box_classes(regions.labels[positive], classes)
        for each in (targets, targets * torch.tensor(_MIRRORED)) if flipped else (targets,):
            counts.index_add_(0, rows, torch.ones_like(each[:, :1]))
            sums.index_add_(0, rows, each)
            squares.index_add_(0, rows, each**2)
    means = sums / counts.clamp_min(1)
    variances = (squares / counts.clamp_min(1) - means**2).clamp_min(0)
    deviations = torch.where(variances > 1e-12, variances.sqrt(), 1)
    return TargetUnits(tuple(map(tuple, means.tolist())), tuple(map(tuple, deviations.tolist())))
