"""PSROIPooling: R-FCN's pooling, where every bin of a region has feature maps of its own."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import Layer, Shape
from netdsl.layers._regions import check_regions, rounded


class PSROIPooling(Layer):
    """Channel (c * group_size + row) * group_size + column is averaged over the bin in that row and column.

    Regions are (image, x1, y1, x2, y2) in the image, rounded before `spatial_scale` brings them to the feature map.
    """

    config = pb.PSROIPoolingParameter
    bottoms = (2, 2)
    no_gradient = (1,)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.psroi_pooling_param
        self.scale, self.outputs, self.size = p.spatial_scale, p.output_dim, p.group_size
        if self.outputs < 1 or self.size < 1 or self.scale <= 0:
            raise NetError("output_dim and group_size must be 1 or more, and spatial_scale more than 0")
        self._check(bottoms)

    def _check(self, bottoms: Sequence[Shape]) -> None:
        check_regions(bottoms)
        needed = self.outputs * self.size**2
        if bottoms[0][1] != needed:
            raise ShapeError(f"output_dim * group_size² is {needed}, but the bottom has {bottoms[0][1]} channels")

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        self._check(bottoms)
        return [(bottoms[1][0], self.outputs, self.size, self.size)]

    def forward(self, x: Tensor, regions: Tensor) -> Tensor:
        regions = regions.detach().reshape(-1, 5)
        sums = F.pad(x.double().cumsum(2).cumsum(3), (1, 0, 1, 0))  # of all that is above and to the left
        sums = sums.reshape(len(x), self.outputs, self.size, self.size, *sums.shape[2:])
        top, bottom = self._bins(regions[:, 2], regions[:, 4], x.shape[2])
        left, right = self._bins(regions[:, 1], regions[:, 3], x.shape[3])
        image, rows = regions[:, 0].long()[:, None, None], torch.arange(self.size, device=x.device)

        def above_left(y: Tensor, x_: Tensor) -> Tensor:
            return sums[image, :, rows[:, None], rows, y[:, :, None], x_[:, None]]

        total = above_left(bottom, right) - above_left(top, right) - above_left(bottom, left) + above_left(top, left)
        places = (bottom - top)[:, :, None] * (right - left)[:, None]
        return (total / places.clamp_min(1)[..., None]).movedim(-1, 1).to(x.dtype)

    def _bins(self, first: Tensor, last: Tensor, length: int) -> tuple[Tensor, Tensor]:
        """Where the bins of each region begin and end along one axis; one that is outside has no length."""
        origin = (rounded(first) * self.scale)[:, None]
        step = ((rounded(last) + 1)[:, None] * self.scale - origin).clamp_min(0.1) / self.size
        edges = torch.arange(self.size + 1, device=first.device) * step + origin
        start = edges[:, :-1].floor().long().clamp(0, length)
        return start, edges[:, 1:].ceil().long().clamp(0, length).maximum(start)
