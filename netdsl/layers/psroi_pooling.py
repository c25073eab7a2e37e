"""PSROIPooling: R-FCN's pooling, where each bin of a region has its own feature maps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import UNKNOWN, clamped, part, reshaped, scaled, transposed, whole
from netdsl.layer.samples import BlobKind
from netdsl.layers._regions import check_regions, images_of, rounded, rounded_onnx

_DOUBLE = 11  # ONNX's number for float64


class PSROIPooling(HasOnnxForm):
    """Averages channel (c * group_size + row) * group_size + column over the bin in that row and column of a region.

    Regions are (image, x1, y1, x2, y2) in the image. They are rounded and then scaled by `spatial_scale`.
    """

    config = pb.PSROIPoolingParameter
    bottoms = (2, 2)
    no_gradient = (1,)
    bottom_kinds = (BlobKind.NUMBER, BlobKind.REGION)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.psroi_pooling_param
        self.scale, self.outputs, self.size = p.spatial_scale, p.output_dim, p.group_size
        if self.outputs < 1 or self.size < 1 or self.scale <= 0:
            raise NetError("output_dim, group_size or spatial_scale isn't positive; set all of them to more than 0")
        self._check_channels(bottoms)

    def _check_channels(self, bottoms: Sequence[Shape]) -> None:
        check_regions(bottoms)
        needed = self.outputs * self.size**2
        if bottoms[0][1] != needed:
            raise ShapeError(
                f"output_dim * group_size² is {needed}, but the bottom has {bottoms[0][1]} channels; set "
                "output_dim and group_size so that they are equal"
            )

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        self._check_channels(bottoms)
        return [(bottoms[1][0], self.outputs, self.size, self.size)]

    def forward(self, x: Tensor, regions: Tensor) -> Tensor:
        regions = regions.detach().reshape(-1, 5)
        sums = F.pad(x.double().cumsum(2).cumsum(3), (1, 0, 1, 0))  # sums of everything above and to the left
        table = sums.reshape(len(x), self.outputs, -1).transpose(1, 2).flatten(0, 1)  # by image, bin and position
        top, bottom = self._bins(regions[:, 2], regions[:, 4], x.shape[2])
        left, right = self._bins(regions[:, 1], regions[:, 3], x.shape[3])
        maps = torch.arange(self.size**2, device=x.device).view(self.size, self.size)
        maps = (images_of(regions, x)[:, None, None] * self.size**2 + maps) * sums.shape[2]

        def above_left(y: Tensor, x_: Tensor) -> Tensor:
            places = (maps + y[:, :, None]) * sums.shape[3] + x_[:, None]
            return table.index_select(0, places.flatten())

        total = above_left(bottom, right) - above_left(top, right) - above_left(bottom, left) + above_left(top, left)
        places = ((bottom - top)[:, :, None] * (right - left)[:, None]).clamp_min(1)
        means = total.view(*places.shape, self.outputs) / places[..., None]
        return means.movedim(-1, 1).to(x.dtype)

    def onnx(self, g: OnnxGraph, x: str, regions: str) -> str:
        height, width, k = g.length(x, 2), g.length(x, 3), self.size
        sums = g.node("Cast", x, to=_DOUBLE)
        for axis in (2, 3):
            sums = g.node("CumSum", sums, g.constant(axis))
        sums = g.node("Pad", sums, g.constant([0, 0, 1, 1, 0, 0, 0, 0]))
        sums = transposed(g, reshaped(g, sums, 0, self.outputs, k, k, height + 1, width + 1), 0, 2, 3, 4, 5, 1)
        columns = g.nodes("Split", reshaped(g, regions, UNKNOWN, 5), outputs=5, axis=1, num_outputs=5)
        top, bottom = self._bins_onnx(g, columns[2], columns[4], height)
        left, right = self._bins_onnx(g, columns[1], columns[3], width)
        image = g.node("Unsqueeze", whole(g, columns[0]), g.constant([1, 3]))
        rows = [image, *(g.constant(np.arange(k).reshape(shape)) for shape in ((1, k, 1, 1), (1, 1, k, 1)))]

        def above_left(y: str, x_: str) -> str:
            at = [*rows, g.node("Unsqueeze", y, g.constant([2, 3])), g.node("Unsqueeze", x_, g.constant([1, 3]))]
            shape = g.node("Shape", g.node("Sum", *(g.to_float(each) for each in at)))
            return g.node("GatherND", sums, g.node("Concat", *(g.node("Expand", each, shape) for each in at), axis=-1))

        total = g.node("Sub", above_left(bottom, right), above_left(top, right))
        total = g.node("Add", g.node("Sub", total, above_left(bottom, left)), above_left(top, left))
        down, across = g.node("Sub", bottom, top), g.node("Sub", right, left)
        places = g.node(
            "Mul", g.node("Unsqueeze", down, g.constant([2, 3])), g.node("Unsqueeze", across, g.constant([1, 3]))
        )
        places = g.node("Cast", clamped(g, g.to_float(places), 1, np.inf), to=_DOUBLE)
        return g.to_float(transposed(g, g.node("Div", total, places), 0, 3, 1, 2))

    def _bins_onnx(self, g: OnnxGraph, first: str, last: str, length: int) -> tuple[str, str]:
        """Write `_bins` in ONNX operators: (regions, size) each."""
        origin = scaled(g, rounded_onnx(g, first), self.scale)
        end = scaled(g, scaled(g, rounded_onnx(g, last), 1, 1), self.scale)
        step = g.node("Div", clamped(g, g.node("Sub", end, origin), 0.1, np.inf), g.constant(float(self.size)))
        edges = g.node("Add", g.node("Mul", g.constant(np.arange(self.size + 1.0)), step), origin)
        start = clamped(g, g.node("Floor", part(g, edges, 1, 0, self.size)), 0, length)
        stop = clamped(g, g.node("Ceil", part(g, edges, 1, 1, self.size + 1)), 0, length)
        return whole(g, start), whole(g, g.node("Max", start, stop))

    def _bins(self, first: Tensor, last: Tensor, length: int) -> tuple[Tensor, Tensor]:
        """Return where the bins of each region start and end along one axis. A bin outside the map has length 0."""
        origin = (rounded(first) * self.scale)[:, None]
        step = ((rounded(last) + 1)[:, None] * self.scale - origin).clamp_min(0.1) / self.size
        edges = torch.arange(self.size + 1, device=first.device) * step + origin
        start = edges[:, :-1].floor().long().clamp(0, length)
        return start, edges[:, 1:].ceil().long().clamp(0, length).maximum(start)
