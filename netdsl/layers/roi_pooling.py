"""ROIPooling: the largest values in regions of a feature map, each cut into the same number of bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import UNKNOWN, reshaped
from netdsl.layer.samples import BlobKind
from netdsl.layers._regions import check_regions, images_of, rounded


class ROIPooling(HasOnnxForm):
    """Regions are (image, x1, y1, x2, y2) in the image, which `spatial_scale` brings to the feature map.

    Bins round outward, so that neighbours can overlap. One that is outside of the map gives 0. A region that ends
    before it begins is taken as one place; Faster R-CNN's rule, but not Intel's: that place gets no gradient.
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
            raise NetError("pooled_h and pooled_w must be 1 or more")
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
        image = images_of(regions, x)
        down = _Bins.of(regions[:, 2] * self.scale, regions[:, 4] * self.scale, self.size[0], x.shape[2])
        across = _Bins.of(regions[:, 1] * self.scale, regions[:, 3] * self.scale, self.size[1], x.shape[3])
        # Caffe's rule: of equal values the first counts, row by row. So bins look for the least rank of their places
        values, order = x.flatten(2).sort(dim=-1, descending=True, stable=True)
        plane = image[:, None] * x.shape[1] + torch.arange(x.shape[1], device=x.device)
        at = _least_ranks(order, x.shape, image, down, across) + plane[..., None, None] * order.shape[2]
        full = down.full[:, :, None] & across.full[:, None]
        top = torch.where(full[:, None], values.flatten().gather(0, at.flatten()).view(at.shape), 0)
        if self.malformed_learn:
            return top
        corners = rounded(regions[:, 1:] * self.scale)
        whole = (corners[:, 2:] >= corners[:, :2]).all(1)
        return torch.where(whole[:, None, None, None], top, top.detach())

    def onnx(self, g: OnnxGraph, x: str, regions: str) -> str:
        g.at_most(21)
        regions = reshaped(g, regions, UNKNOWN, 5)
        return g.node("MaxRoiPool", x, regions, pooled_shape=self.size, spatial_scale=self.scale)


@dataclass(frozen=True)
class _Bins:
    """The bins of every region along one axis, each covered by two blocks of 2 ** level places."""

    first: Tensor  # where the first block begins
    last: Tensor  # where the last block begins
    level: Tensor
    full: Tensor  # whether there is anything in a bin

    @classmethod
    def of(cls, first: Tensor, last: Tensor, count: int, length: int) -> _Bins:
        origin = rounded(first)[:, None]
        step = (rounded(last)[:, None] - origin + 1).clamp_min(1) / count
        edges = torch.arange(count + 1, device=first.device) * step
        start = ((edges[:, :-1]).floor() + origin).long().clamp(0, length)
        size = (edges[:, 1:].ceil() + origin).long().clamp(0, length) - start
        level = torch.frexp(size.clamp_min(1).double()).exponent - 1
        start = start.clamp_max(length - 1)
        return cls(start, start + size.clamp_min(1) - 2**level, level, size > 0)


def _least_ranks(order: Tensor, shape: Shape, image: Tensor, down: _Bins, across: _Bins) -> Tensor:
    """The least rank in each bin: regions x channels x bins down x bins across.

    A table has the least of all blocks whose sides are powers of 2; four of them cover a bin.
    """
    images, _, height, width = shape
    ranks = torch.arange(height * width, dtype=torch.int32, device=order.device).expand(order.shape)
    ranks = torch.empty_like(ranks).scatter_(-1, order, ranks).view(shape).permute(0, 2, 3, 1)
    rows = _doubled(ranks.contiguous(), 1, int(down.level.max()))
    table = torch.stack([torch.stack(_doubled(each, 2, int(across.level.max()))) for each in rows])
    block = down.level[:, :, None] * table.shape[1] + across.level[:, None]
    corner = (block * images + image[:, None, None]) * height
    corners = ((corner + y[:, :, None]) * width + x[:, None] for y in (down.first, down.last)
               for x in (across.first, across.last))  # fmt: skip
    return reduce(torch.minimum, (table.flatten(0, 4)[at] for at in corners)).movedim(-1, 1)


def _doubled(ranks: Tensor, axis: int, levels: int) -> list[Tensor]:
    """The least ranks of blocks that are 1, 2, 4... long, where they begin. What crosses the end is never asked for."""
    blocks = [ranks]
    for level in range(levels):
        blocks.append(torch.minimum(blocks[-1], blocks[-1].roll(-(2**level), axis)))
    return blocks
