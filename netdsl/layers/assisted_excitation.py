"""AssistedExcitation: early in training, what lies inside true boxes is strengthened."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import Layer, Shape
from netdsl.layers._yolo import until_zero

_SHARE = 0.75  # of training, after which nothing is strengthened any more


class AssistedExcitation(Layer):
    """x + alpha * mean inside boxes, where the mean over channels is the third bottom; no gradient goes through it.

    Alpha falls with the cosine of how far training is. The solver sets `iteration` and `max_iteration`. Labels
    have rows of class, x, y, width and height, until a zero. Caffe does it for the first item of a batch only.
    """

    origin = "MobileNet-YOLO"
    bottoms = (3, 3)
    deploys_as = "Split"  # boxes aren't known
    no_gradient = (1, 2)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.iteration, self.max_iteration = 0, 1
        x, label, mean = bottoms
        if len(x) != 4 or math.prod(mean) * x[1] != math.prod(x):
            raise ShapeError(f"the mean over channels has shape {list(mean)}, which doesn't go with {list(x)}")
        if label[-1] % 5:
            raise ShapeError(f"labels need rows of 5 numbers, not {label[-1]}")

    def alpha(self) -> float:
        """Return how much is added."""
        done = self.iteration / (self.max_iteration * _SHARE)
        return min(max(math.cos(done * math.pi / 2), 0.0), 1.0)

    def forward(self, x: Tensor, label: Tensor, mean: Tensor) -> Tensor:
        height, width = x.shape[2:]
        truths = label.reshape(len(x), -1, 5)
        used = until_zero(truths[..., 1])[..., None]
        columns = _inside(truths[..., 1], truths[..., 3], width) & used
        rows = _inside(truths[..., 2], truths[..., 4], height)
        covered = rows.to(x.dtype).transpose(1, 2) @ columns.to(x.dtype) > 0
        excited = mean.reshape(len(x), 1, height, width).where(covered[:, None], 0)
        return x + self.alpha() * excited


def _inside(centre: Tensor, size: Tensor, length: int) -> Tensor:
    """Return which of `length` pixels a box touches: (N, T, length). Caffe's rule: an end rounds up from 0.05 on."""
    begin = ((centre - size / 2) * length).long().clamp(0, length - 1)
    end = ((centre + size / 2) * length + 0.95).long().clamp(max=length).maximum(begin + 1)
    pixel = torch.arange(length, device=centre.device)
    return (pixel >= begin[..., None]) & (pixel < end[..., None])
