"""DetectNetGroundtruth: DetectNet's Python layer that lists the true objects in a grid."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import NotDeployed, Shape
from netdsl.layers._detectnet import CellGrid, ListsBoxes, settings_of


class DetectNetGroundtruth(NotDeployed, ListsBoxes):
    """Lists for each class up to 50 different boxes (left, top, right, bottom, 0) that cover a cell.

    The first bottom is each cell's coverage by objects of each class. The second one contains the corners of the box
    relative to the cell.
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
