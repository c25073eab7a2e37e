"""SegmentationEvaluate: the intersection over union of a segmentation and its label."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import NotDeployed, Shape


class SegmentationEvaluate(NotDeployed):
    """Computes the intersection over union of each channel of the first item, for values above a threshold.

    A prediction of another size is converted to bytes and resized. In that case, an unlabeled class results in -1, and
    otherwise in 0.
    """

    config = pb.SegmentationEvaluateParameter
    bottoms = (2, 2)
    no_gradient = (0, 1)
    predictions = (0,)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        if not layer.segmentation_evaluate_param.HasField("num_classes"):
            raise NetError("num_classes is missing; set it to the number of classes")
        self.threshold = layer.segmentation_evaluate_param.threshold
        if any(len(shape) != 4 for shape in bottoms) or bottoms[0][1] != bottoms[1][1]:
            raise ShapeError(
                f"the bottoms must be images with equal channels, not {list(bottoms[0])} and "
                f"{list(bottoms[1])}; connect the predicted and the true map"
            )

    def forward(self, x: Tensor, label: Tensor) -> Tensor:
        resized = x.shape[2:] != label.shape[2:]
        predicted = self._resized(x[:1], label)[0] if resized else x[0] > self.threshold
        labeled = label[0] > self.threshold
        shared = (predicted & labeled).sum((1, 2)).to(x.dtype)
        either = (predicted | labeled).sum((1, 2)).to(x.dtype)
        overlap = shared / either.clamp(min=1)
        if resized:
            overlap = torch.where(labeled.any(2).any(1), overlap, -1.0)
        return overlap.view(1, 1, 1, -1)

    def _resized(self, x: Tensor, label: Tensor) -> Tensor:
        image = (x * 255).trunc().clamp(0, 255)
        resized = F.interpolate(image, tuple(label.shape[2:]), mode="bilinear", align_corners=False)
        return resized.round() > int(self.threshold * 255)
