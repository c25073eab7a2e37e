"""RpnProposal: Faster R-CNN's Python layer that turns anchors and predictions into regions."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import Layer, Shape
from netdsl.layers._boxes import suppressed
from netdsl.layers._rpn import RpnSettings, anchors, by_place, layer_settings, one_image, pixel_boxes, placed


class RpnProposal(Layer):
    """Regions (0, x1, y1, x2, y2) and their scores, best first, without those that overlap with better ones.

    Bottoms are scores (background first), box predictions, and the image's height, width and scale. How many regions
    there are is known only when it runs; until then the shape says as many as there may be.
    """

    bottoms = (3, 3)
    tops = (1, 2)
    no_gradient = (0, 1, 2)
    stands_for = ("rpn.proposal_layer.ProposalLayer",)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        given = layer_settings(layer, "feat_stride")
        self.settings = RpnSettings.of(layer.phase, given)
        self.stride, self.anchors = given["feat_stride"], anchors(given.get("scales", (8, 16, 32)))
        one_image(bottoms)

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        one_image(bottoms)
        count = self.settings.rpn_post_nms_top_n
        return [(count, 5), (count, 1)]

    @torch.no_grad()
    def forward(self, scores: Tensor, codes: Tensor, image: Tensor) -> tuple[Tensor, Tensor]:
        s, (height, width, scale) = self.settings, image.flatten()[:3]
        boxes = pixel_boxes(placed(self.anchors, scores, self.stride), by_place(codes[0], 4), height, width)
        large = (boxes[:, 2:] - boxes[:, :2] + 1 >= s.rpn_min_size * scale).all(1)
        boxes, score = boxes[large], by_place(scores[0, len(self.anchors) :], 1)[large]
        order = score[:, 0].argsort(descending=True, stable=True)
        if s.rpn_pre_nms_top_n > 0:
            order = order[: s.rpn_pre_nms_top_n]
        limit = s.rpn_post_nms_top_n if s.rpn_post_nms_top_n > 0 else None
        boxes, score = boxes[order], score[order]
        stay = suppressed(boxes, torch.zeros_like(order), s.rpn_nms_thresh, pixel=1, limit=limit)
        boxes = boxes[stay]
        return torch.cat((boxes.new_zeros((len(boxes), 1)), boxes), 1), score[stay]
