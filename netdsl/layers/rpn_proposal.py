"""RpnProposal: Faster R-CNN's Python layer that proposes regions from anchors and predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_boxes import suppressed_onnx
from netdsl.layer.onnx_form import UNKNOWN, part, reshaped, smaller
from netdsl.layer.samples import BlobKind
from netdsl.layer.tops import MakesRegions
from netdsl.layer.user_code import ReplacesUserCode
from netdsl.layers._boxes import picked, suppressed
from netdsl.layers._constants import constants
from netdsl.layers._rpn import (
    RpnSettings,
    anchors,
    by_place,
    by_place_onnx,
    large_onnx,
    layer_settings,
    one_image,
    pixel_boxes,
    pixel_boxes_onnx,
    placed,
    placed_onnx,
)


class RpnProposal(ReplacesUserCode, HasOnnxForm, MakesRegions):
    """Outputs the regions (0, x1, y1, x2, y2) that survive non-maximum suppression, and their scores, best first.

    The bottoms are scores (background first), box predictions, and the image's height, width and scale. The number of
    regions is known only when the layer runs. Until then, the shape has the largest possible number.
    """

    origin = "Faster R-CNN"
    bottoms = (3, 3)
    tops = (1, 2)
    no_gradient = (0, 1, 2)
    bottom_kinds = (BlobKind.NUMBER, BlobKind.NUMBER, BlobKind.IMAGE_SIZE)
    python_names = ("rpn.proposal_layer.ProposalLayer",)
    varying_axis = 0
    waits = "outputs one region for each remaining box"

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        settings = layer_settings(layer, "feat_stride")
        self.settings = RpnSettings.of(layer.phase, settings)
        self.stride = settings["feat_stride"]
        self.anchors = anchors(settings.get("scales", (8, 16, 32)), settings.get("ratios", (0.5, 1, 2)))
        one_image(bottoms)

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        one_image(bottoms)
        count = self.settings.rpn_post_nms_top_n
        return [(count, 5), (count, 1)]

    def keep_regions(self, most: int) -> None:
        self.settings = replace(self.settings, rpn_pre_nms_top_n=-1, rpn_post_nms_top_n=most)

    @torch.no_grad()
    def forward(self, scores: Tensor, codes: Tensor, image: Tensor) -> tuple[Tensor, Tensor]:
        s, (height, width, scale) = self.settings, image.flatten()[:3]
        codes = self._as_used(by_place(codes[0], 4))
        boxes = pixel_boxes(placed(self.anchors, scores, self.stride), codes, height, width)
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

    def _as_used(self, codes: Tensor) -> Tensor:
        """Return predictions without normalization.

        R-FCN's rule: in training, they are in the units of the targets. Saved weights already include the units.
        """
        s = self.settings
        if not (s.rpn_normalize_targets and self.layer.phase == pb.TRAIN):
            return codes
        return codes * constants(s.rpn_normalize_stds, codes) + constants(s.rpn_normalize_means, codes)

    def onnx(self, g: OnnxGraph, scores: str, codes: str, image: str) -> tuple[str, ...]:
        s, image = self.settings, reshaped(g, image, UNKNOWN)
        count = len(self.anchors)
        height, width, scale = (part(g, image, 0, place, place + 1) for place in range(3))
        around = placed_onnx(g, self.anchors, scores, self.stride)
        boxes = pixel_boxes_onnx(g, around, by_place_onnx(g, codes, 4), height, width)
        score = by_place_onnx(g, part(g, scores, 1, count, 2 * count), 1)
        large = large_onnx(g, boxes, g.node("Mul", scale, g.constant(float(s.rpn_min_size))))
        large = reshaped(g, large, UNKNOWN)
        boxes, score = (g.node("Compress", each, large, axis=1) for each in (boxes, score))
        score = g.node("Squeeze", score, g.constant([2]))
        available = g.node("Shape", score, start=1, end=2)
        most = s.rpn_pre_nms_top_n
        first = smaller(g, available, g.constant([most])) if most > 0 else available
        score, order = g.nodes("TopK", score, first, outputs=2, axis=1)
        boxes = g.node("GatherND", boxes, g.node("Unsqueeze", order, g.constant([2])), batch_dims=1)
        limit = s.rpn_post_nms_top_n if s.rpn_post_nms_top_n > 0 else np.iinfo(np.int32).max
        at = suppressed_onnx(g, boxes, score, s.rpn_nms_thresh, limit=int(limit), pixel=1)
        rows = g.node("Concat", g.to_float(at[0]), picked(g, boxes, *at), axis=1)
        return rows, reshaped(g, picked(g, score, *at), UNKNOWN, 1)
