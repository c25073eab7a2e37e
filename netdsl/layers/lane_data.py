"""LaneData: MobileNet-YOLO's images of roads, with the lanes as a map."""

from __future__ import annotations

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import Shape
from netdsl.layers._data import DataLayer


class LaneData(DataLayer):
    """An image, a number, and a map of lanes that is `seg_scales` times smaller or has a size of its own."""

    origin = "MobileNet-YOLO"
    config = pb.AnnotatedDataParameter
    tops = (1, 3)

    def batch_size(self) -> int:
        return self.layer.data_param.batch_size

    def item_shapes(self) -> list[Shape]:
        p, image = self.layer.annotated_data_param, self.image()
        own = (p.seg_resize_width, p.seg_resize_height)  # Caffe's rule: the width comes first
        lanes = own if all(own) else tuple(length // max(p.seg_scales, 1) for length in image[-2:])
        return [image, (1, 1, 1), (1, *lanes)]
