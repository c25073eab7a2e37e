"""AssistedExcitation: stronger features inside the true boxes, early in training."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import Layer, Shape
from netdsl.layers._yolo import until_zero

_SHARE = 0.75  # the share of the training after which the layer does nothing


class AssistedExcitation(Layer):
    """Computes x + alpha * mean inside the true boxes. The third bottom is the mean over channels and gets no gradient.

    Alpha falls from 1 to 0 along a cosine during the training. The solver sets `iteration` and `max_iteration`. A label
    has rows of class, x, y, width and height, and ends at the first zero. Caffe changes only the first item of a batch.
    """

    origin = "MobileNet-YOLO"
    bottoms = (3, 3)
    deploys_as = "Split"  # a deployed net doesn't know the true boxes
    no_gradient = (1, 2)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.iteration, self.max_iteration = 0, 1
        x, label, mean = bottoms
        if len(x) != 4 or math.prod(mean) * x[1] != math.prod(x):
            raise ShapeError(
                f"the mean over channels has shape {list(mean)}, which doesn't match the shape {list(x)} of the "
                "first bottom; connect the mean of the first bottom"
            )
        if label[-1] % 5:
            raise ShapeError(
                f"the labels must have rows of 5 numbers, but the last axis has length {label[-1]}; connect the "
                "top `label` of a data layer for boxes"
            )

    def alpha(self) -> float:
        """Return the factor of the added mean, from 1 at the beginning to 0."""
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


def _inside(center: Tensor, size: Tensor, length: int) -> Tensor:
    """Return which of `length` pixels each box covers: (N, T, length).

    Caffe's rule: fractions from 0.05 on are rounded up at the end.
    """
    begin = ((center - size / 2) * length).long().clamp(0, length - 1)
    end = ((center + size / 2) * length + 0.95).long().clamp(max=length).maximum(begin + 1)
    pixel = torch.arange(length, device=center.device)
    return (pixel >= begin[..., None]) & (pixel < end[..., None])
