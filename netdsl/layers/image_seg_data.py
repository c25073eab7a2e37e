"""ImageSegData: DeepLab's images from files, with a label for every pixel and maybe how big they were."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.reading import Reading
from netdsl.data.sources.segmentation import image_seg_source
from netdsl.data.types import Array
from netdsl.data.writing.sample_files import as_pixels, write_images, write_list
from netdsl.layer import Shape
from netdsl.layers._data import ImagesWithMaps, check_forks, check_source, passed_over


class ImageSegData(ImagesWithMaps):
    """An image, a map of its size, and maybe its height and width before it was cropped or padded."""

    origin = "DeepLab"
    tops = (2, 3)

    def item_shapes(self) -> list[Shape]:
        return [*super().item_shapes(), (1, 1, 2)]

    def write_samples(self, folder: Path, values: Sequence[Array]) -> pb.LayerParameter:
        made = super().write_samples(folder, values)
        if made.image_data_param.label_type == pb.ImageDataParameter.IMAGE:
            names = write_images(map(as_pixels, values[0]), folder)
            made.image_data_param.source = write_list(folder, names, [0] * len(names))
        return made

    def reading(self, seed: int) -> Reading:
        p, train = self.layer.image_data_param, self.layer.phase == pb.TRAIN
        check_source(p)
        check_forks(p, "ignore_label", "label_type")
        sizes = len(self.layer.top) > 2
        source = image_seg_source(p, self.layer.transform_param, train=train, sizes=sizes, seed=seed)
        return Reading(source, p.batch_size, start=passed_over(p.rand_skip, seed), name=p.source)
