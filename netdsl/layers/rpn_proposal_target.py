"""RpnProposalTarget: Faster R-CNN's Python layer that samples regions and computes their targets."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layer import Shape
from netdsl.layer.samples import BlobKind
from netdsl.layer.tops import NormalizesTargets, TargetUnits
from netdsl.layer.user_code import ReplacesUserCode
from netdsl.layers._boxes import overlaps
from netdsl.layers._loss import classes_of
from netdsl.layers._rpn import (
    RpnSettings,
    box_classes,
    chosen,
    class_targets,
    in_units,
    layer_settings,
    pixel_targets,
    sample,
)


class RpnProposalTarget(ReplacesUserCode, NormalizesTargets):
    """Outputs sampled regions, their labels, and box targets with inside and outside weights.

    The bottoms are the regions of one image and objects (x1, y1, x2, y2, label), which are added to the regions. The
    number of sampled regions is known only when the layer runs. Until then, the shapes are for a full batch. With two
    classes, as in R-FCN, all objects share the second box class. py-faster-rcnn's rule: in a net that proposes regions,
    the targets' means and deviations are fixed in advance, if targets are normalized.
    """

    origin = "Faster R-CNN"
    bottoms = (2, 2)
    tops = (5, 5)
    no_gradient = (0, 1)
    bottom_kinds = (BlobKind.REGION, BlobKind.LABELED_BOX)
    targets_top = 2
    deploys_as = "Split"  # a deployed net uses all regions
    python_names = ("rpn.proposal_target_layer.ProposalTargetLayer",)
    waits = "samples the regions that qualify, whose number depends on the data"

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        settings = layer_settings(layer, "num_classes")
        self.classes = settings["num_classes"]
        self.settings = RpnSettings.of(layer.phase, {"bbox_normalize_targets_precomputed": True, **settings})
        if self.classes < 2:
            raise NetError("num_classes includes the background; set it to 2 or more")

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        count = self.settings.batch_size if self.settings.batch_size > 0 else 128
        return [(count, 5), (count,), *[(count, 4 * self.classes)] * 3]

    def target_units(self) -> TargetUnits | None:
        return self.settings.units(self.classes)

    @torch.no_grad()
    def forward(self, regions: Tensor, objects: Tensor) -> tuple[Tensor, ...]:
        s, objects = self.settings, objects.reshape(-1, 5)
        regions = torch.cat((regions.reshape(-1, 5), torch.nn.functional.pad(objects[:, :4], (1, 0))))
        overlap, assigned = overlaps(regions[:, None, 1:].double(), objects[:, :4].double(), pixel=1).max(1)
        places, positives = chosen(overlap, s, 1, sample)
        regions, assigned = regions[places], assigned[places]
        labels = objects[assigned, 4]
        labels[positives:] = 0
        classes = classes_of(labels, self.layer)
        targets = pixel_targets(regions[:, 1:], objects[assigned, :4])
        targets = in_units(targets, self.target_units(), box_classes(classes, self.classes))
        spread, inside = class_targets(classes, targets, self.classes, s.bbox_inside_weights)
        return regions, labels, spread, inside, (inside > 0).to(inside)
