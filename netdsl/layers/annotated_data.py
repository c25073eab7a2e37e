"""AnnotatedData: SSD's images from a database, with the boxes of what they show."""

from __future__ import annotations

from collections.abc import Sequence

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layer import Layer, Shape

_SIDE = 300  # SSD's usual image


class AnnotatedData(Layer):
    """Its tops are given by whoever runs the net: images and rows (image, label, instance, x1, y1, x2, y2, difficult).

    The size of images is that of `transform_param`; if it says none, 300 x 300 is assumed, and three channels unless
    `force_gray`. The number of boxes differs from batch to batch; one for each image is assumed.
    """

    config = pb.AnnotatedDataParameter
    bottoms = (0, 0)
    tops = (1, 3)
    external = True

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        if not layer.data_param.batch_size:
            raise NetError("needs data_param { batch_size }")

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        """Images, boxes, and for MobileNet-YOLO's nets that also segment the labels of places."""
        batch, p = self.layer.data_param.batch_size, self.layer.annotated_data_param
        height, width = self._size()
        channels = 1 if self.layer.transform_param.force_gray else 3
        rows = (batch, 1, 300, 5) if p.yolo_data_type == 1 else (1, 1, batch, 8)
        places = (p.seg_resize_width, p.seg_resize_height)  # the fork's own order
        if not all(places):
            places = height // p.seg_scales, width // p.seg_scales
        shapes: list[Shape] = [(batch, channels, height, width), rows, (batch, 1, *places)]
        return shapes[: len(self.layer.top)]

    def _size(self) -> tuple[int, int]:
        """Height and width: of the crop, else of the first resizing that has them."""
        p = self.layer.transform_param
        if p.crop_size:
            return p.crop_size, p.crop_size
        resized = next((each for each in p.resize_param if each.height and each.width), None)
        height, width = (resized.height, resized.width) if resized else (_SIDE, _SIDE)
        return p.crop_h or height, p.crop_w or width
