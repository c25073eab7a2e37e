"""DetectNetGroundtruth: DetectNet's Python layer that lists the objects of its training data's grid."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import NotDeployed, Shape
from netdsl.layers._detectnet import CellGrid, ListsBoxes, settings_of


class DetectNetGroundtruth(NotDeployed, ListsBoxes):
    """For every class the boxes (left, top, right, bottom, 0) that cover a cell, each once, 50 at most.

    Bottoms are how much objects of each class cover every cell, and the corners of the box there, seen from the cell.
    """

    origin = "NVIDIA"
    python_names = ("caffe.layers.detectnet.clustering.ClusterGroundtruth",)
    waits = "lists rectangles on the host"

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        width, height, stride, classes = settings_of(layer, "width, height, stride, classes", [int] * 4)
        self.grid, self.classes = CellGrid(int(width), int(height), int(stride)), int(classes)
        self.check(bottoms)

    def listed(self, covered: Tensor, corners: Tensor) -> Sequence[Sequence[float]]:
        boxes = self.grid.boxes(covered > 0, corners).tolist()
        return [(*box, 0.0) for box in dict.fromkeys(map(tuple, boxes))]
