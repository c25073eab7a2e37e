"""DenseImageData: SegNet's images from files, with a label for every pixel."""

from __future__ import annotations

from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.reading import Reading
from netdsl.data.sources.segmentation import dense_image_source
from netdsl.layer import Shape
from netdsl.layers._data import DataLayer, both_or_none, check_source, passed_over

_CAMVID = (360, 480)


class DenseImageData(DataLayer):
    """An image and a map of its size. Where nothing says a size it is that of CamVid, which SegNet was made for."""

    config = pb.DenseImageDataParameter

    def batch_size(self) -> int:
        return self.layer.dense_image_data_param.batch_size

    def item_shapes(self) -> list[Shape]:
        p = self.layer.dense_image_data_param
        crop = both_or_none(p.crop_height, p.crop_width, "crop")
        new = both_or_none(p.new_height, p.new_width, "new")
        image = self.image(crop, new, _CAMVID, channels=3 if p.is_color else 1)
        return [image, (1, *image[-2:])]

    def reading(self, seed: int) -> Reading:
        p = self.layer.dense_image_data_param
        check_source(p)
        source = dense_image_source(p, self.layer.transform_param, seed=seed)
        return Reading(source, p.batch_size, start=passed_over(p.rand_skip, seed), name=p.source)
