"""RpnAnchorTarget: Faster R-CNN's Python layer that computes the targets of anchors."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import NotDeployed, Shape
from netdsl.layer.running import NeedsValues, can_be_read
from netdsl.layer.samples import BlobKind
from netdsl.layer.tops import NormalizesTargets, TargetUnits
from netdsl.layer.user_code import ReplacesUserCode
from netdsl.layers._boxes import overlaps
from netdsl.layers._constants import constants
from netdsl.layers._rpn import RpnSettings, anchors, drawn, in_units, layer_settings, one_image, pixel_targets, placed


class RpnAnchorTarget(NotDeployed, ReplacesUserCode, NeedsValues, NormalizesTargets):
    """Outputs labels of anchors (1 object, 0 background, -1 neither), box targets, and inside and outside weights.

    The bottoms are scores, of which only the size is read, objects (x1, y1, x2, y2, label), the image's height, width
    and scale, and the image. An anchor counts as an object if it overlaps one enough, or more than any other anchor
    does.
    """

    origin = "Faster R-CNN"
    bottoms = (3, 4)
    tops = (4, 4)
    no_gradient = (0, 1, 2, 3)
    bottom_kinds = (BlobKind.NUMBER, BlobKind.LABELED_BOX, BlobKind.IMAGE_SIZE, BlobKind.NUMBER)
    targets_top = 1
    python_names = ("rpn.anchor_target_layer.AnchorTargetLayer",)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        settings = layer_settings(layer, "feat_stride")
        self.settings = RpnSettings.of(layer.phase, settings)
        if self.settings.rpn_positive_weight >= 1:
            raise NetError(
                "RPN_POSITIVE_WEIGHT is 1 or more; set it to less than 1, or to a negative number for equal weights"
            )
        self.stride = settings["feat_stride"]
        self.anchors = anchors(settings.get("scales", (8, 16, 32)), settings.get("ratios", (0.5, 1, 2)))
        self.border = settings.get("allowed_border", 0)
        one_image(bottoms)

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        one_image(bottoms)
        count, (height, width) = len(self.anchors), bottoms[0][2:]
        return [(1, 1, count * height, width), *[(1, 4 * count, height, width)] * 3]

    def target_units(self) -> TargetUnits | None:
        return self.settings.anchor_units(len(self.anchors))

    @torch.no_grad()
    def forward(self, scores: Tensor, objects: Tensor, image: Tensor, *_: Tensor) -> tuple[Tensor, ...]:
        around, objects = placed(self.anchors, scores, self.stride), objects.reshape(-1, 5)[:, :4]
        height, width = image.flatten()[:2]
        inside = (around[:, :2] >= -self.border).all(1)
        inside &= (around[:, 2] < width + self.border) & (around[:, 3] < height + self.border)
        if not len(objects) or (can_be_read(inside) and not bool(inside.any())):
            raise ShapeError(
                "the image must contain at least one object and one whole anchor; leave images without objects out, "
                "or set smaller anchors"
            )
        overlap = overlaps(around[:, None].double(), objects.double(), pixel=1).where(inside[:, None], -1)
        labels = self._labels(overlap, inside).to(scores)
        targets = self._targets(around, objects[overlap.argmax(1)]).where(inside[:, None], 0)
        inner = (labels == 1)[:, None] * constants(self.settings.rpn_bbox_inside_weights, scores)
        outer = self._weights(labels)[:, None].expand(-1, 4)
        height, width = scores.shape[2:]
        tops = [self._as_map(each, height, width) for each in (labels[:, None], targets, inner, outer)]
        return tops[0].reshape(1, 1, -1, width), *tops[1:]

    def _labels(self, overlap: Tensor, inside: Tensor) -> Tensor:
        """Return labels from overlaps (anchors x objects). At most `rpn_batchsize` of them are 0 or 1."""
        s, most = self.settings, overlap.amax(1)
        positive = inside & ((overlap == overlap.amax(0)).any(1) | (most >= s.rpn_positive_overlap))
        negative = inside & (most < s.rpn_negative_overlap)
        positive, negative = (
            (positive & ~negative, negative) if s.rpn_clobber_positives else (positive, negative & ~positive)
        )
        positive = drawn(positive, int(s.rpn_fg_fraction * s.rpn_batchsize))
        negative = drawn(negative, s.rpn_batchsize - positive.sum())
        return positive.int() - (~positive & ~negative).int()

    def _targets(self, boxes: Tensor, objects: Tensor) -> Tensor:
        targets = pixel_targets(boxes, objects)
        return in_units(targets, self.target_units(), targets.new_zeros(len(targets), dtype=torch.long))

    def _weights(self, labels: Tensor) -> Tensor:
        """Return the weight of each anchor in the box loss."""
        share = self.settings.rpn_positive_weight
        positive, negative = labels == 1, labels == 0
        if share < 0:
            return (labels >= 0) / (labels >= 0).sum()
        return torch.where(positive, share / positive.sum(), torch.where(negative, (1 - share) / negative.sum(), 0))

    def _as_map(self, x: Tensor, height: int, width: int) -> Tensor:
        return x.reshape(height, width, -1).permute(2, 0, 1)[None].contiguous()
