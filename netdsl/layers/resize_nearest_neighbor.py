"""ResizeNearestNeighbor: TensorFlow's nearest-neighbor resizing."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layer import Shape
from netdsl.layers._resizing import Resizing


class ResizeNearestNeighbor(Resizing):
    """Resizes an image by copying pixels. Positions are rounded down, or to the nearest pixel with `align_corners`."""

    config = pb.ResizeNearestNeighborParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        p = layer.resize_nearest_neighbor_param
        super().__init__(layer, bottoms, p)
        self.half_pixel, self.onnx_half = p.half_pixel_centers, p.half_pixel_onnx
        if self.align_corners + self.half_pixel + self.onnx_half > 1:
            raise NetError(
                "only one of align_corners, half_pixel_centers and half_pixel_onnx can be set; keep the one "
                "that the model was trained with"
            )

    def along(self, x: Tensor, axis: int, size: int) -> Tensor:
        places = self.places(x, axis, size, middle=self.half_pixel or self.onnx_half)
        shift = 0.5 if self.align_corners else -0.5 if self.onnx_half else 0.0
        nearest = (places + shift).floor().long().clamp(0, x.shape[axis] - 1)
        return x.index_select(axis, nearest)
