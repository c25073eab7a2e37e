"""RpnProposalTarget: Faster R-CNN's Python layer that chooses regions to learn from, and what they should be."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layer import Shape
from netdsl.layer.samples import BlobKind
from netdsl.layer.user_code import ReplacesUserCode
from netdsl.layers._boxes import overlaps
from netdsl.layers._constants import constants
from netdsl.layers._labels import classes_of
from netdsl.layers._rpn import RpnSettings, layer_settings, pixel_targets, sample


class RpnProposalTarget(ReplacesUserCode):
    """Regions, their labels, and the box targets of each region's class with inside and outside weights.

    Bottoms are regions of one image and objects (x1, y1, x2, y2, label), which are regions too. Regions are chosen by
    chance; how many is known only when it runs, and until then the shapes say a full batch. With two classes, as in
    R-FCN, all objects are of the second as far as boxes go.
    """

    origin = "Faster R-CNN"
    bottoms = (2, 2)
    tops = (5, 5)
    no_gradient = (0, 1)
    bottom_kinds = (BlobKind.REGION, BlobKind.LABELLED_BOX)
    deploys_as = "Split"  # all regions are looked at
    python_names = ("rpn.proposal_target_layer.ProposalTargetLayer",)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        settings = layer_settings(layer, "num_classes")
        self.classes, self.settings = settings["num_classes"], RpnSettings.of(layer.phase, settings)
        if self.classes < 2:
            raise NetError("num_classes counts the background, so it is 2 or more")

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        count = self.settings.batch_size if self.settings.batch_size > 0 else 128
        return [(count, 5), (count,), *[(count, 4 * self.classes)] * 3]

    @torch.no_grad()
    def forward(self, regions: Tensor, objects: Tensor) -> tuple[Tensor, ...]:
        objects = objects.reshape(-1, 5)
        regions = torch.cat((regions.reshape(-1, 5), torch.nn.functional.pad(objects[:, :4], (1, 0))))
        overlap, assigned = overlaps(regions[:, None, 1:].double(), objects[:, :4].double(), pixel=1).max(1)
        chosen, positives = self._chosen(overlap)
        regions, assigned = regions[chosen], assigned[chosen]
        labels = objects[assigned, 4]
        labels[positives:] = 0
        targets = self._targets(regions[:, 1:], objects[assigned, :4])
        own = classes_of(labels).clamp_max(self.classes - 1)[:, None] == torch.arange(
            self.classes, device=labels.device
        )
        own &= (labels > 0)[:, None]
        inner = own[..., None] * constants(self.settings.bbox_inside_weights, targets)
        spread = (own[..., None] * targets[:, None]).flatten(1)
        return regions, labels, spread, inner.flatten(1), (inner > 0).flatten(1).to(inner)

    def _chosen(self, overlap: Tensor) -> tuple[Tensor, int]:
        """The regions to learn from, objects first, and how many objects there are."""
        s = self.settings
        room = s.batch_size if s.batch_size > 0 else len(overlap)
        most = round(s.fg_fraction * room) if s.batch_size > 0 else room
        positive = sample(overlap >= s.fg_thresh, most)
        negative = sample((overlap < s.bg_thresh_hi) & (overlap >= s.bg_thresh_lo), room - len(positive))
        return torch.cat((positive, negative)), len(positive)

    def _targets(self, boxes: Tensor, objects: Tensor) -> Tensor:
        s, targets = self.settings, pixel_targets(boxes, objects)
        if s.bbox_normalize_targets_precomputed:
            means, deviations = (constants(each, targets) for each in (s.bbox_normalize_means, s.bbox_normalize_stds))
            targets = (targets - means) / deviations
        return targets
