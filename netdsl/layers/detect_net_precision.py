"""DetectNetPrecision: DetectNet's Python layer that computes precision and recall."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import NotDeployed, Shape
from netdsl.layer.user_code import ReplacesUserCode
from netdsl.layers._detectnet import FALSE_ALARM, FIELDS, HIT, MISSED


class DetectNetPrecision(NotDeployed, ReplacesUserCode):
    """Computes precision times recall, precision, and recall in percent, from boxes that DetectNetScore has marked.

    The fork calls the first number mAP, although it isn't a mean over thresholds.
    """

    origin = "NVIDIA"
    tops = (3, 3)
    no_gradient = (0,)
    python_names = ("caffe.layers.detectnet.mean_ap.mAP",)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        if len(bottoms[0]) != 3 or bottoms[0][2] != FIELDS:
            raise ShapeError(
                f"the bottom must have marked boxes of shape (images, boxes, {FIELDS}), not {list(bottoms[0])}; "
                "connect the boxes of a layer that lists them, such as DetectNet's clustering"
            )

    def forward(self, boxes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        hits, false_alarms, missed = (
            (boxes[:, :, 4] == kind).sum().to(boxes).reshape(1) for kind in (HIT, FALSE_ALARM, MISSED)
        )
        precision = 100 * hits / (hits + false_alarms).clamp_min(1)
        recall = 100 * hits / (hits + missed).clamp_min(1)
        return precision * recall / 100, precision, recall
