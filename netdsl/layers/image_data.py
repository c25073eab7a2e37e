"""ImageData: images from files, with labels from the list that names them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.data.batches.reading import Reading
from netdsl.data.sources.images import ImageSource
from netdsl.data.types import Array
from netdsl.data.writing.sample_files import as_pixels, write_images, write_list, write_mean_file
from netdsl.layer import Shape
from netdsl.layer.data import HasSampleFiles
from netdsl.layers._data import DatumData, both_or_none, check_forks, check_source, passed_over


class ImageData(DatumData, HasSampleFiles):
    """Reads images and labels from the files in a list."""

    config = pb.ImageDataParameter

    def settings(self) -> pb.ImageDataParameter:
        return self.layer.image_data_param

    def item_shapes(self) -> Sequence[Shape | None]:
        p = self.layer.image_data_param
        new = both_or_none(p.new_height, p.new_width, "new")
        return [self.image(new), ()]

    def is_gray(self) -> bool:
        return not self.layer.image_data_param.is_color

    def reading(self, seed: int) -> Reading:
        p = self.layer.image_data_param
        check_source(p)
        check_forks(p, "threads", "cache", "precache")
        source = ImageSource(
            p.source, root_folder=p.root_folder, new_height=p.new_height, new_width=p.new_width, color=p.is_color
        )
        start = passed_over(p.rand_skip, seed)
        return Reading(source, p.batch_size, (self.transform(),), p.shuffle, start, name=p.source)

    def write_samples(self, folder: Path, values: Sequence[Array]) -> pb.LayerParameter:
        made, images = copy_of(self.layer), values[0]
        labels = values[1].astype(int).ravel().tolist() if len(values) > 1 else [0] * len(images)
        made.image_data_param.source = write_list(folder, write_images(map(as_pixels, images), folder), labels)
        made.image_data_param.root_folder = f"{folder}/"
        made.image_data_param.ClearField("rand_skip")
        size = both_or_none(made.image_data_param.new_height, made.image_data_param.new_width, "new")
        write_mean_file(made, (images.shape[1], *(size if all(size) else images.shape[2:])), folder)
        return made
