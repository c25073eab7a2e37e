"""RoIData: Fast R-CNN's Python layer that reads images with their regions or objects."""

from __future__ import annotations

from collections.abc import Sequence

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import Layer, Shape
from netdsl.layers._rpn import layer_settings


class RoIData(Layer):
    """Its tops are given by whoever runs the net: images, and regions to classify or objects to propose regions for.

    No file says how large the images are, so the shapes are those that py-faster-rcnn begins with: 600 x 1000, one
    image and an object for a net with proposals, two images and 128 regions for one without.
    """

    bottoms = (0, 0)
    tops = (3, 6)
    external = True
    stands_for = ("roi_data_layer.layer.RoIDataLayer",)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.classes = layer_settings(layer, "num_classes")["num_classes"]

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        """Data, image sizes and objects; or data, regions, labels, box targets, and their weights."""
        names = self.layer.top
        if len(names) == 3 and names[1] != "rois":
            return [(1, 3, 600, 1000), (1, 3), (1, 5)]
        count = 128
        return [(2, 3, 600, 1000), (count, 5), (count,), *[(count, 4 * self.classes)] * 3][: len(names)]
