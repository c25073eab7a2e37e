"""Pad: a border of one value around the bottom."""

from __future__ import annotations

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape


class Pad(HasOnnxForm):
    """Adds a border to the bottom. `paddings` contains the sizes before and after each axis, in order."""

    config = pb.PadParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p, axes = layer.pad_param, len(bottoms[0])
        if len(p.paddings) != 2 * axes:
            raise ShapeError(
                f"a bottom with {axes} axes needs {2 * axes} paddings, not {len(p.paddings)}; write two for "
                "each axis: before it and after it"
            )
        pairs = list(zip(p.paddings[::2], p.paddings[1::2], strict=True))
        self.backwards = [size for pair in reversed(pairs) for size in pair]  # torch starts with the last axis
        self.value = p.constant_values

    def forward(self, x: Tensor) -> Tensor:
        return F.pad(x, self.backwards, value=self.value)

    def onnx(self, g: OnnxGraph, x: str) -> str:
        pairs = list(zip(self.backwards[::2], self.backwards[1::2], strict=True))[::-1]
        sizes = [begin for begin, _ in pairs] + [end for _, end in pairs]
        return g.node("Pad", x, g.constant(sizes), g.constant(self.value))
