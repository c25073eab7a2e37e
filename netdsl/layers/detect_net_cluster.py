"""DetectNetCluster: DetectNet's Python layer that groups the boxes of grid cells into detections."""

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
    """Computes for each class up to 50 boxes (left, top, right, bottom, confidence) on which several cells agree.

    The first bottom is each cell's coverage by objects of each class. The second one contains the corners of a box
    relative to the cell. Similar boxes are merged as in OpenCV's groupRectangles. The confidence is the logarithm of
    their number.
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
