"""Mul: the product of two blobs, with broadcasting."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.running import Reads, ReadsInBackward


class Mul(HasOnnxForm, ReadsInBackward):
    """Computes a * b. From the last axis on, lengths must be equal or one of them must be 1."""

    origin = "several forks"
    bottoms = (2, 2)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        a, b = bottoms
        if any(x != y and 1 not in (x, y) for x, y in zip(a[::-1], b[::-1], strict=False)):
            raise ShapeError(
                f"shapes {list(a)} and {list(b)} don't match, because each axis must have equal lengths or a "
                "length of 1; reshape one of them"
            )

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return a * b

    def reads_bottoms(self) -> Reads:
        return Reads.VALUES

    def onnx(self, g: OnnxGraph, a: str, b: str) -> str:
        return g.node("Mul", a, b)
