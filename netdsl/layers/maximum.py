"""Maximum: the larger values of two blobs or, in rtpose, the position of each channel's maximum."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ConversionError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layers._elementwise import check_pair


class Maximum(HasOnnxForm):
    """Computes the elementwise maximum of two bottoms, with broadcasting.

    For a single bottom, it outputs (x, y, value) of each channel's maximum, as in rtpose. If no value is positive, all
    three numbers are 0.
    """

    origin = "several forks"
    bottoms = (1, 2)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        if len(bottoms) == 2:
            check_pair(bottoms)
        elif len(bottoms[0]) != 4:
            raise ShapeError(
                f"a single bottom must have 4 axes, not {len(bottoms[0])}; reshape it to 4 axes with a Reshape layer"
            )

    def forward(self, a: Tensor, b: Tensor | None = None) -> Tensor:
        if b is not None:
            return torch.maximum(a, b)
        value, place = a.flatten(2).max(2)
        peaks = torch.stack([place % a.shape[3], place // a.shape[3], value], 2)
        return torch.where(value[..., None] > 0, peaks, 0.0)[:, :, None]

    def onnx(self, g: OnnxGraph, a: str, b: str = "") -> str:
        if not b:
            raise ConversionError(
                "can be exported only with two bottoms; split it into several layers with two bottoms"
            )
        return g.node("Max", a, b)
