"""Axpy: a scaled blob plus another one, as at the end of blocks in squeeze-and-excitation nets."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.onnx_form import reshaped
from netdsl.layer.running import Reads, ReadsInBackward


class Axpy(HasOnnxForm, ReadsInBackward):
    """Computes a * x + y. `a` has one number for each channel of each item."""

    origin = "SENet"
    bottoms = (3, 3)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        scale, x, y = bottoms
        if len(x) < 2 or scale[:2] != x[:2] or any(size != 1 for size in scale[2:]):
            raise ShapeError(
                f"the scale has shape {list(scale)}, but a blob of shape {list(x)} needs the scale "
                f"{[*x[:2], 1, 1]}; change it with a Reshape layer, or pool it globally"
            )
        if x != y:
            raise ShapeError(
                f"the second bottom has shape {list(x)} and the third {list(y)}, but they must be the same; connect "
                "blobs of one shape"
            )

    def forward(self, a: Tensor, x: Tensor, y: Tensor) -> Tensor:
        return torch.addcmul(y, a.view(*a.shape[:2], *[1] * (x.dim() - 2)), x)

    def reads_bottoms(self) -> Reads:
        return Reads.VALUES

    def onnx(self, g: OnnxGraph, a: str, x: str, y: str) -> str:
        scale = reshaped(g, a, 0, 0, *(1,) * (len(g.shape(x)) - 2))
        return g.node("Add", g.node("Mul", scale, x), y)
