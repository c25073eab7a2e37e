"""DetectNetCluster: DetectNet's Python layer that makes detections of what the cells of its grid say."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import Shape
from netdsl.layers._detectnet import CellGrid, ListsBoxes, group_rectangles, settings_of

_SETTINGS = "width, height, stride, least coverage, least boxes, eps, least height, classes"


class DetectNetCluster(ListsBoxes):
    """For every class the boxes (left, top, right, bottom, confidence) that several cells agree on, 50 at most.

    Bottoms are how much objects of each class cover every cell, and the corners of a box there, seen from the cell.
    Boxes that are nearly the same become one, as OpenCV groups rectangles; the confidence is the logarithm of how many.
    """

    origin = "NVIDIA"
    python_names = ("caffe.layers.detectnet.clustering.ClusterDetections",)
    waits = "groups rectangles on the host, one after the other"

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        kinds = [int, int, int, float, int, float, int, int]
        width, height, stride, covered, count, self.eps, tall, classes = settings_of(layer, _SETTINGS, kinds)
        self.grid, self.classes = CellGrid(int(width), int(height), int(stride)), int(classes)
        self.least_covered, self.least_count, self.least_height = covered, int(count), int(tall)
        self.check(bottoms)

    def listed(self, covered: Tensor, corners: Tensor) -> Sequence[Sequence[float]]:
        boxes = self.grid.boxes(covered >= self.least_covered, corners)
        if not boxes.any():
            return []
        boxes[:, 2:] -= boxes[:, :2]
        rectangles, counts = group_rectangles(np.rint(boxes).astype(np.int64), self.least_count, self.eps)
        pairs = zip(rectangles.tolist(), counts.tolist(), strict=True)
        return [
            (x, y, x + width, y + height, math.log(count))
            for (x, y, width, height), count in pairs
            if height >= self.least_height
        ]
