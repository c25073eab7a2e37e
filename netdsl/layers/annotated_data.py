"""AnnotatedData: SSD's images from a database, with the boxes of what they show."""

from __future__ import annotations

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import Shape
from netdsl.layer.samples import BlobKind
from netdsl.layers._data import DataLayer


class AnnotatedData(DataLayer):
    """Images, rows (image, label, instance, x1, y1, x2, y2, difficult), and in MobileNet-YOLO maps of labels.

    How many boxes there are differs from batch to batch; one for each image is assumed. Maps have one channel, unless
    the label map, which isn't read, has more.
    """

    config = pb.AnnotatedDataParameter
    tops = (1, 3)

    def batch_size(self) -> int:
        return self.layer.data_param.batch_size

    def top_kind(self, place: int) -> BlobKind:
        has_rows = place == 1 and self.layer.annotated_data_param.yolo_data_type != 1
        return BlobKind.OBJECT if has_rows else BlobKind.NUMBER

    def item_shapes(self) -> list[Shape]:
        p, batch = self.layer.annotated_data_param, self.batch_size()
        image = self.image()
        boxes = (batch, 1, 300, 5) if p.yolo_data_type == 1 else (1, 1, batch, 8)
        places = (p.seg_resize_width, p.seg_resize_height)  # the fork's own order
        if not all(places):
            places = image[1] // p.seg_scales, image[2] // p.seg_scales
        return [image, boxes, (1, *places)]
