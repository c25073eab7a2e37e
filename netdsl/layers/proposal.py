"""Proposal: the regions that anchors and predictions propose, as in the C++ forks of Faster R-CNN."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.limits import Limit
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_boxes import suppressed_onnx
from netdsl.layer.onnx_form import UNKNOWN, part, reshaped
from netdsl.layer.samples import BlobKind
from netdsl.layer.tops import MakesRegions
from netdsl.layers._boxes import best_first, picked, suppressed
from netdsl.layers._rpn import (
    Anchor,
    anchors,
    by_place,
    by_place_onnx,
    large_onnx,
    pixel_boxes,
    pixel_boxes_onnx,
    placed,
    placed_onnx,
)
from netdsl.layers._settings import refuse

_ALL = 2**31 - 1
_DOUBT = (
    "the scale of Proposal's anchors is assumed to be relative to base_size, as in PVANet; happynear's is in pixels"
)


class Proposal(HasOnnxForm, MakesRegions):
    """Outputs the regions (image, x1, y1, x2, y2) that survive non-maximum suppression, and their scores, best first.

    The bottoms are scores (background first), box predictions, and the image's height, width and scale, or separate
    scales for height and width. An anchor's `scale` is relative to `base_size`; in happynear's Caffe, it is in pixels.
    Regions that are too small get a score of 0 but are kept. The number of regions is known only when the layer runs.
    Until then, the shape has the largest possible number.
    """

    config = pb.ProposalParameter
    bottoms = (3, 3)
    tops = (1, 2)
    no_gradient = (0, 1, 2)
    bottom_kinds = (BlobKind.NUMBER, BlobKind.NUMBER, BlobKind.IMAGE_SIZE)
    varying_axis = 0
    waits = "outputs one region for each remaining box"

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = self.settings = layer.proposal_param
        refuse(p, "anchor_base_size", "anchor_scale", "anchor_ratio", "max_rois")
        if min(p.feat_stride, p.base_size, p.pre_nms_topn, p.post_nms_topn, *p.ratio, *p.scale) <= 0:
            raise NetError(
                "one of feat_stride, base_size, pre_nms_topn, post_nms_topn, ratio and scale isn't "
                "positive; set it to more than 0"
            )
        scales, ratios = list(p.scale) or [8, 16, 32], list(p.ratio) or [0.5, 1, 2]
        happynear = self.by_dialect(dict.fromkeys(("happynear", "happynear-ms"), True), False, _DOUBT)
        make = _anchors_of_happynear if happynear else anchors
        self.anchors = make(scales, ratios, p.base_size, _rounded_up)
        self._check_channels(bottoms)

    def _check_channels(self, bottoms: Sequence[Shape]) -> None:
        scores, codes, _ = bottoms
        count = len(self.anchors)
        if len(scores) != 4 or scores[1] != 2 * count or codes != (scores[0], 4 * count, *scores[2:]):
            expected = f"{count} anchors need scores of {2 * count} channels and predictions of {4 * count}"
            raise ShapeError(
                f"{expected}, but the bottoms have shapes {list(scores)} and {list(codes)}; set num_output of "
                "the layers before it to these numbers, or the lists `ratio` and `scale`"
            )

    def keep_regions(self, most: int) -> None:
        self.settings.pre_nms_topn, self.settings.post_nms_topn = _ALL, most

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        self._check_channels(bottoms)
        count = bottoms[0][0] * self.settings.post_nms_topn
        return [(count, 5), (count,)]

    @torch.no_grad()
    def forward(self, scores: Tensor, codes: Tensor, image: Tensor) -> tuple[Tensor, Tensor]:
        p, image = self.settings, image.flatten()[:4]
        around = placed(self.anchors, scores, p.feat_stride)
        shifts = torch.stack([by_place(each, 4) for each in codes])
        boxes = pixel_boxes(around, shifts, image[0], image[1])
        least = p.min_size * torch.stack((image[-1], image[2]))
        large = (boxes[..., 2:] - boxes[..., :2] + 1 >= least).all(-1)
        score = torch.stack([by_place(each, 1)[:, 0] for each in scores[:, len(self.anchors) :]]) * large
        groups = torch.arange(len(scores), device=scores.device).repeat_interleave(len(around))
        order, rank = best_first(groups, score.flatten())
        order = order[rank < p.pre_nms_topn]
        boxes, score, groups = boxes.reshape(-1, 4)[order], score.flatten()[order], groups[order]
        stay = suppressed(boxes, groups, p.nms_thresh, pixel=1, limit=p.post_nms_topn)
        return torch.cat((groups[stay, None].to(boxes), boxes[stay]), 1), score[stay]

    def onnx(self, g: OnnxGraph, scores: str, codes: str, image: str) -> tuple[str, ...]:
        p, last = self.settings, min(math.prod(g.length(image, axis) for axis in range(len(g.shape(image)))), 4) - 1
        image = reshaped(g, image, UNKNOWN)
        height, width, scale_h, scale_w = (part(g, image, 0, place, place + 1) for place in (0, 1, 2, last))
        around = placed_onnx(g, self.anchors, scores, p.feat_stride)
        boxes = pixel_boxes_onnx(g, around, by_place_onnx(g, codes, 4), height, width)
        least = g.node("Mul", g.node("Concat", scale_w, scale_h, axis=0), g.constant(float(p.min_size)))
        count = len(self.anchors)
        score = g.node("Squeeze", by_place_onnx(g, part(g, scores, 1, count, 2 * count), 1), g.constant([2]))
        score = g.node("Mul", score, g.to_float(large_onnx(g, boxes, least)))
        places = count * g.length(scores, 2) * g.length(scores, 3)
        score, order = g.nodes("TopK", score, g.constant([min(p.pre_nms_topn, places)]), outputs=2, axis=1)
        boxes = g.node("GatherND", boxes, g.node("Unsqueeze", order, g.constant([2])), batch_dims=1)
        at = suppressed_onnx(g, boxes, score, p.nms_thresh, limit=p.post_nms_topn, pixel=1)
        rows = g.node("Concat", g.to_float(at[0]), picked(g, boxes, *at), axis=1)
        return (rows, picked(g, score, *at))[: len(self.layer.top)]


def _rounded_up(side: float) -> int:
    """Return a side rounded as in C: halves are rounded up."""
    return int(side + 0.5)


def _anchors_of_happynear(
    scales: Sequence[float], ratios: Sequence[float], base: int, to_int: Callable[[float], int]
) -> list[Anchor]:
    """Return the anchors at the first position, by ratio and then scale, as in happynear's Caffe.

    Only the final sides are rounded, after subtracting one pixel.
    """
    Limit.BOXES.check(len(scales) * len(ratios), "each position of the map")
    boxes = []
    middle = (base - 1) / 2
    for ratio in ratios:
        width = math.sqrt(base * base / ratio)
        for scale in scales:
            x, y = (to_int(side * scale / base - 1) / 2 for side in (width, width * ratio))
            boxes.append((middle - x, middle - y, middle + x, middle + y))
    return boxes
