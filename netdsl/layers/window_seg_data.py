"""WindowSegData: DeconvNet's parts of images from files, with a label for every pixel."""

from __future__ import annotations

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import Shape
from netdsl.layers._data import DataLayer, both_or_none


class WindowSegData(DataLayer):
    """A part of an image, and a map of its size."""

    origin = "deconvnet"
    config = pb.ImageDataParameter
    tops = (2, 2)

    def batch_size(self) -> int:
        return self.layer.image_data_param.batch_size

    def item_shapes(self) -> list[Shape]:
        p = self.layer.image_data_param
        image = self.image(both_or_none(p.new_height, p.new_width, "new"), channels=3 if p.is_color else 1)
        return [image, (1, *image[-2:])]
