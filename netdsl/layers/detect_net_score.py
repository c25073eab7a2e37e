"""DetectNetScore: DetectNet's Python layer that compares detections with the true objects."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import NotDeployed, Shape
from netdsl.layer.running import NeedsValues, not_compiled
from netdsl.layer.user_code import ReplacesUserCode
from netdsl.layers._boxes import overlaps
from netdsl.layers._detectnet import FALSE_ALARM, FIELDS, HIT, MISSED, MOST_BOXES

_SAME = 0.7  # the smallest overlap at which a detection counts as an object


class DetectNetScore(NotDeployed, ReplacesUserCode, NeedsValues):
    """Marks boxes with 1 for a correct detection, 2 for a false one and 3 for a missed object.

    The bottoms are lists of objects and of detections. Each object in turn is matched to the first free detection that
    overlaps it enough.
    """

    origin = "NVIDIA"
    bottoms = (2, 2)
    no_gradient = (0, 1)
    python_names = ("caffe.layers.detectnet.mean_ap.ScoreDetections",)
    waits = "matches objects to detections one after the other"

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.top_shapes(bottoms)

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        objects, detections = bottoms
        if any(len(shape) != 3 or shape[2] != FIELDS for shape in bottoms) or objects[0] != detections[0]:
            what = f"not {list(objects)} and {list(detections)}"
            raise ShapeError(
                f"the bottoms must have boxes of the same images, (images, boxes, {FIELDS}), {what}; connect "
                "the marked and the predicted boxes of the same images"
            )
        return [(objects[0], MOST_BOXES, FIELDS)]

    @not_compiled
    @torch.no_grad()
    def forward(self, objects: Tensor, detections: Tensor) -> Tensor:
        return torch.stack([_scored(*image) for image in zip(objects, detections, strict=True)])


def _scored(objects: Tensor, detections: Tensor) -> Tensor:
    """Return up to 50 boxes of one image: correct detections, false ones, missed objects, and zeros."""
    objects, detections = (boxes[boxes[:, :4].any(1), :4] for boxes in (objects, detections))
    alike = overlaps(detections[:, None].double(), objects.double()) >= _SAME
    found, taken = alike.new_zeros(len(objects)), alike.new_zeros(len(detections))
    for index in range(len(objects)):
        free = (alike[:, index] & ~taken).nonzero()
        if len(free):
            found[index] = taken[free[0]] = True
    kinds = ((detections[taken], HIT), (detections[~taken], FALSE_ALARM), (objects[~found], MISSED))
    rows = torch.cat([torch.cat((boxes, boxes.new_full((len(boxes), 1), kind)), 1) for boxes, kind in kinds])
    table = objects.new_zeros(MOST_BOXES, FIELDS)
    table[: len(rows)] = rows[:MOST_BOXES]
    return table
