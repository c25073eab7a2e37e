"""ImageData: images from files, and labels from the list that names them."""

from __future__ import annotations

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import Shape
from netdsl.layers._data import DataLayer, both_or_none


class ImageData(DataLayer):
    """An image and a number."""

    config = pb.ImageDataParameter

    def batch_size(self) -> int:
        return self.layer.image_data_param.batch_size

    def item_shapes(self) -> list[Shape]:
        p = self.layer.image_data_param
        new = both_or_none(p.new_height, p.new_width, "new")
        return [self.image(new, channels=3 if p.is_color else 1), ()]
