"""ImageData: images from files, and labels from the list that names them."""

from __future__ import annotations

from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.reading import Reading
from netdsl.data.sources.images import ImageSource
from netdsl.layer import Shape
from netdsl.layers._data import DatumData, both_or_none, check_forks, check_source, passed_over


class ImageData(DatumData):
    """An image and a number."""

    config = pb.ImageDataParameter

    def settings(self) -> pb.ImageDataParameter:
        return self.layer.image_data_param

    def item_shapes(self) -> list[Shape]:
        p = self.layer.image_data_param
        new = both_or_none(p.new_height, p.new_width, "new")
        return [self.image(new, channels=3 if p.is_color else 1), ()]

    def reading(self, seed: int) -> Reading:
        p = self.layer.image_data_param
        check_source(p)
        check_forks(p, "threads", "cache", "precache")
        source = ImageSource(
            p.source, root_folder=p.root_folder, new_height=p.new_height, new_width=p.new_width, color=p.is_color
        )
        start = passed_over(p.rand_skip, seed)
        return Reading(source, p.batch_size, (self.transform(),), p.shuffle, start, name=p.source)
