"""The shared code of layers that resize images as TensorFlow does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import transposed

Settings = TypeVar("Settings", pb.ResizeBilinearParameter, pb.ResizeNearestNeighborParameter)


class Resizing(HasOnnxForm):
    """Resizes an image to a fixed size or by a factor, one side after the other. With NHWC, the channels are last."""

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape], p: Settings) -> None:
        super().__init__(layer, bottoms)
        if len(bottoms[0]) != 4:
            raise ShapeError(
                f"the bottom must be images with 4 axes, but it has {len(bottoms[0])}; reshape it to 4 axes "
                "with a Reshape layer"
            )
        if p.data_format not in ("NHWC", "NCHW"):
            raise NetError(f"data_format is '{p.data_format}'; set it to NHWC or NCHW")
        self.first = 1 if p.data_format == "NHWC" else 2
        self.fixed = (
            p.output_height if p.HasField("output_height") else None,
            p.output_width if p.HasField("output_width") else None,
        )
        self.scales = (p.scale_height, p.scale_width)
        self.align_corners = p.align_corners
        for side, size in zip(("height", "width"), self.sizes(bottoms[0]), strict=True):
            if size < 1:
                raise NetError(f"the {side} of the top would be {size}; set output_{side}, or a larger scale_{side}")

    def sizes(self, shape: Sequence[int]) -> list[int]:
        sides = zip(self.fixed, self.scales, shape[self.first : self.first + 2], strict=True)
        return [math.floor(size * scale) if fixed is None else fixed for fixed, scale, size in sides]

    def forward(self, x: Tensor) -> Tensor:
        for axis, size in enumerate(self.sizes(x.shape), self.first):
            x = self.along(x, axis, size)
        return x

    def onnx(self, g: OnnxGraph, x: str) -> str:
        """Write the resizing as a matrix product along each side. The matrices result from resizing an identity
        matrix."""
        lengths = [g.length(x, axis) if axis else 1 for axis in range(4)]
        last = self.first == 1
        x = transposed(g, x, 0, 3, 1, 2) if last else x
        height, width = (self.along(torch.eye(lengths[axis]), 0, size).numpy()
                         for axis, size in enumerate(self.sizes(lengths), self.first))  # fmt: skip
        x = g.node("MatMul", g.node("MatMul", g.constant(height), x), g.constant(width.T))
        return transposed(g, x, 0, 2, 3, 1) if last else x

    def along(self, x: Tensor, axis: int, size: int) -> Tensor:
        """Return the image with one side resized."""
        raise NotImplementedError

    def places(self, x: Tensor, axis: int, size: int, *, middle: bool) -> Tensor:
        """Return the positions of the new pixels among the old ones, in single precision as in TensorFlow.

        A pixel's position is its corner, or with `middle` its center.
        """
        aligned = self.align_corners and size > 1
        step = (x.shape[axis] - 1) / (size - 1) if aligned else x.shape[axis] / size
        places = torch.arange(size, dtype=torch.float32, device=x.device)
        return (places + 0.5 if middle else places) * torch.tensor(step, dtype=torch.float32)
