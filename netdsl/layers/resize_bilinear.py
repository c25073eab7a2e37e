"""ResizeBilinear: TensorFlow's bilinear resizing."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layer import Shape
from netdsl.layers._resizing import Resizing


class ResizeBilinear(Resizing):
    """Resizes an image bilinearly. Each pixel is the mean of its four neighbors, weighted by their distance."""

    config = pb.ResizeBilinearParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        p = layer.resize_bilinear_param
        super().__init__(layer, bottoms, p)
        self.half_pixel, self.pytorch_half = p.half_pixel_centers, p.pytorch_half_pixel
        if self.align_corners + self.half_pixel + self.pytorch_half > 1:
            raise NetError(
                "only one of align_corners, half_pixel_centers and pytorch_half_pixel can be set; keep the one "
                "that the model was trained with"
            )

    def along(self, x: Tensor, axis: int, size: int) -> Tensor:
        half = self.half_pixel or self.pytorch_half
        places = self.places(x, axis, size, middle=half) - (0.5 if half else 0)
        if self.pytorch_half and size == 1:
            places = torch.zeros_like(places)
        last = x.shape[axis] - 1
        lower, upper = places.floor().long().clamp(0, last), places.ceil().long().clamp(0, last)
        weight = (places - places.floor()).to(x.dtype).view(-1, *[1] * (x.dim() - 1 - axis))
        return torch.lerp(x.index_select(axis, lower), x.index_select(axis, upper), weight)
