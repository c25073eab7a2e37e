"""DenseImageData: SegNet's images from files, with a label for each pixel."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.data.batches.reading import Reading
from netdsl.data.sources.segmentation import dense_image_source
from netdsl.data.types import Array
from netdsl.data.writing.sample_files import as_labels, as_pixels, write_images, write_list, write_mean_file
from netdsl.layer import Shape
from netdsl.layer.data import HasSampleFiles
from netdsl.layers._data import DataLayer, both_or_none, check_source, passed_over

_CAMVID = (360, 480)


class DenseImageData(DataLayer, HasSampleFiles):
    """Reads images and label maps of the same size. The default size is that of CamVid, SegNet's data set."""

    config = pb.DenseImageDataParameter

    def batch_size(self) -> int:
        return self.layer.dense_image_data_param.batch_size

    def item_shapes(self) -> Sequence[Shape | None]:
        p = self.layer.dense_image_data_param
        crop = both_or_none(p.crop_height, p.crop_width, "crop")
        new = both_or_none(p.new_height, p.new_width, "new")
        image = self.image(crop, new)
        return [image, (1, *image[-2:])]

    def typical_size(self) -> tuple[int, int]:
        return _CAMVID

    def is_gray(self) -> bool:
        return not self.layer.dense_image_data_param.is_color

    def reading(self, seed: int) -> Reading:
        p = self.layer.dense_image_data_param
        check_source(p)
        source = dense_image_source(p, self.layer.transform_param, seed=seed)
        return Reading(source, p.batch_size, start=passed_over(p.rand_skip, seed), name=p.source)

    def write_samples(self, folder: Path, values: Sequence[Array]) -> pb.LayerParameter:
        made = copy_of(self.layer)
        made.dense_image_data_param.source = write_list(
            folder,
            write_images(map(as_pixels, values[0]), folder),
            write_images(map(as_labels, values[1]), folder, "map"),
        )
        made.dense_image_data_param.root_folder = f"{folder}/"
        made.dense_image_data_param.ClearField("rand_skip")
        write_mean_file(made, values[0].shape[1:], folder)
        return made
