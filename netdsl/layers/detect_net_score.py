"""DetectNetScore: DetectNet's Python layer that says which detections are right."""

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

_SAME = 0.7  # overlap from which on a detection is an object


class DetectNetScore(NotDeployed, ReplacesUserCode, NeedsValues):
    """Boxes with 1 for a detection that is an object, 2 for one that is none, 3 for an object that wasn't detected.

    Bottoms are lists of objects and of detections. Each object in turn takes the first detection that overlaps with it
    enough and that no other has taken.
    """

    origin = "NVIDIA"
    bottoms = (2, 2)
    no_gradient = (0, 1)
    python_names = ("caffe.layers.detectnet.mean_ap.ScoreDetections",)
    waits = "lets objects choose one after the other among as many detections as there are"

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.top_shapes(bottoms)

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        objects, detections = bottoms
        if any(len(shape) != 3 or shape[2] != FIELDS for shape in bottoms) or objects[0] != detections[0]:
            what = f"not {list(objects)} and {list(detections)}"
            raise ShapeError(f"needs lists of boxes for the same images, of shape (images, boxes, {FIELDS}), {what}")
        return [(objects[0], MOST_BOXES, FIELDS)]

    @not_compiled
    @torch.no_grad()
    def forward(self, objects: Tensor, detections: Tensor) -> Tensor:
        return torch.stack([_scored(*image) for image in zip(objects, detections, strict=True)])


def _scored(objects: Tensor, detections: Tensor) -> Tensor:
    """Return the boxes of one image: hits, false alarms, missed objects, zeros; 50 at most."""
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
