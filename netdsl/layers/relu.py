"""ReLU: negative values become zero or are scaled by a slope."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layer import OnnxGraph, Shape
from netdsl.layer.onnx_form import clamped
from netdsl.layer.running import KeepsSigns, OverwritesBottom, Reads, ReadsInBackward
from netdsl.layers._elementwise import Elementwise


class ReLU(Elementwise, OverwritesBottom, KeepsSigns, ReadsInBackward):
    """Computes max(x, 0) + slope * min(x, 0). The Synopsys fork can also set bounds."""

    config = pb.ReLUParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.relu_param
        self.slope = p.negative_slope
        self.lower = p.minimum or -math.inf
        self.upper = min(p.maximum if p.maximum > 0 else math.inf, 6 if p.relu6 else math.inf)
        self.bounded = bool(p.minimum) or self.upper < math.inf
        if self.lower >= self.upper:
            raise NetError(
                f"minimum {self.lower:g} isn't less than maximum {self.upper:g}; raise maximum, or lower minimum"
            )

    def forward(self, x: Tensor) -> Tensor:
        overwrites = bool(self.overwritten())
        # With a negative slope, torch can compute the gradient only from the bottom.
        top = F.leaky_relu(x, self.slope, overwrites and self.slope > 0) if self.slope else F.relu(x, overwrites)
        return F.hardtanh(top, self.lower, self.upper) if self.bounded else top

    def keeps_signs(self) -> bool:
        return self.slope >= 0 and self.lower <= 0

    def keeps_passed(self) -> bool:
        return not self.slope

    def reads_bottoms(self) -> Reads:
        return Reads.NOTHING if self._does_with_top() else self._reads()

    def reads_tops(self) -> Reads:
        return self._reads() if self._does_with_top() else Reads.NOTHING

    def _does_with_top(self) -> bool:
        return self.is_in_place() and self.keeps_signs()

    def _reads(self) -> Reads:
        return Reads.PASSED if self.bounded else Reads.SIGNS

    def onnx(self, g: OnnxGraph, x: str) -> str:
        top = g.node("LeakyRelu", x, alpha=self.slope) if self.slope else g.node("Relu", x)
        return clamped(g, top, self.lower, self.upper) if self.bounded else top
