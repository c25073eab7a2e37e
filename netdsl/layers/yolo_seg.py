"""YoloSeg: the loss of a segmentation that is learned together with a detection."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import Loss, Shape
from netdsl.layers._loss import stated


class YoloSeg(Loss):
    """Computes the weighted sum of squares of sigmoid(x) - label, divided by the batch size.

    The gradient is the weighted difference. The third bottom contains the number of pixels of each class in each item.
    With it, the rarer a class is, the larger is the weight of its pixels.
    """

    config = pb.YoloSegParameter
    bottoms = (2, 3)
    no_gradient = (1, 2)
    deploys_as = "Sigmoid"

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.scale = layer.yolo_seg_param.object_scale
        x, label = bottoms[:2]
        if len(x) != 4 or x != label:
            raise ShapeError(
                f"prediction and label must have the same shape with 4 axes, but they have {list(x)} and "
                f"{list(label)}; connect the predicted and the true map of each class"
            )
        if len(bottoms) == 3 and (bottoms[2][:2] != x[:2] or any(size != 1 for size in bottoms[2][2:])):
            raise ShapeError(
                f"the pixel counts must have shape {list(x[:2])}, not {list(bottoms[2])}; connect the third top "
                "of the data layer"
            )

    def forward(self, x: Tensor, label: Tensor, counts: Tensor | None = None) -> Tensor:
        with torch.no_grad():
            difference = (x.sigmoid() - label) * self.scale
            if counts is not None:
                pixels = counts.reshape(x.shape[:2])
                share = pixels.sum(0) / (x[0, 0].numel() - pixels).sum(0)
                difference = torch.where(label > 0.5, difference * (2 - share[:, None, None]), difference)
            loss = difference.square().sum() / len(x)
        return stated(x, loss, difference / len(x))
