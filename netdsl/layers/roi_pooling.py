"""ROIPooling: the largest values in the bins of each region of a feature map."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import UNKNOWN, reshaped
from netdsl.layer.samples import BlobKind
from netdsl.layers._regions import Spans, check_regions, images_of, largest_in_rectangles, rounded


class ROIPooling(HasOnnxForm):
    """Computes the maximum in each bin of a region. Regions (image, x1, y1, x2, y2) are scaled by `spatial_scale`.

    Bins are rounded outward, so that adjacent ones can overlap. A bin outside the map outputs 0. A region that ends
    before it starts is treated as a single position. In Faster R-CNN, but not in Intel's Caffe, that position gets no
    gradient.
    """

    config = pb.ROIPoolingParameter
    bottoms = (2, 2)
    no_gradient = (1,)
    bottom_kinds = (BlobKind.NUMBER, BlobKind.REGION)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.roi_pooling_param
        size = list(p.pooled_size) or [p.pooled_h, p.pooled_w]
        if len(size) > 2 or min(size) < 1:
            raise NetError("pooled_h or pooled_w is missing; set both to 1 or more")
        self.size, self.scale = (size[0], size[-1]), p.spatial_scale
        self.malformed_learn = self.by_dialect({"intel": True}, False)
        check_regions(bottoms)

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        check_regions(bottoms)
        return [(bottoms[1][0], bottoms[0][1], *self.size)]

    def forward(self, x: Tensor, regions: Tensor) -> Tensor:
        if not len(regions):
            return x.new_zeros((0, x.shape[1], *self.size))
        regions = regions.detach().reshape(-1, 5)
        down = self._bins(regions[:, 2], regions[:, 4], self.size[0], x.shape[2])
        across = self._bins(regions[:, 1], regions[:, 3], self.size[1], x.shape[3])
        corners = rounded(regions[:, 1:] * self.scale)
        learning = (corners[:, 2:] >= corners[:, :2]).all(1) | self.malformed_learn
        return largest_in_rectangles(x, images_of(regions, x), down, across, learning)

    def _bins(self, first: Tensor, last: Tensor, count: int, length: int) -> Spans:
        """Return the bins of each region along one axis."""
        origin = rounded(first * self.scale)[:, None]
        step = (rounded(last * self.scale)[:, None] - origin + 1).clamp_min(1) / count
        edges = torch.arange(count + 1, device=first.device) * step
        start = (edges[:, :-1].floor() + origin).long().clamp(0, length)
        return Spans.of(start, (edges[:, 1:].ceil() + origin).long().clamp(0, length), length)

    def onnx(self, g: OnnxGraph, x: str, regions: str) -> str:
        g.at_most(21)
        regions = reshaped(g, regions, UNKNOWN, 5)
        return g.node("MaxRoiPool", x, regions, pooled_shape=self.size, spatial_scale=self.scale)
