"""WindowData: windows cut from images, with the class of their objects."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.data.batches.reading import Reading
from netdsl.data.sources.windows import WindowSource
from netdsl.data.types import Array
from netdsl.data.writing.sample_files import as_pixels, write_images, write_mean_file
from netdsl.errors import NetError
from netdsl.layer import Shape
from netdsl.layer.data import HasSampleFiles
from netdsl.layers._data import DataLayer, check_source


class WindowData(DataLayer, HasSampleFiles):
    """Reads windows of images, resized to crop_size, and labels."""

    config = pb.WindowDataParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        if not layer.transform_param.crop_size:
            raise NetError("crop_size is missing; set it in transform_param to the size of the windows")

    def batch_size(self) -> int:
        return self.layer.window_data_param.batch_size

    def reading(self, seed: int) -> Reading:
        p = self.layer.window_data_param
        check_source(p)
        return Reading(WindowSource(p, self.layer.transform_param, seed=seed), p.batch_size, name=p.source)

    def write_samples(self, folder: Path, values: Sequence[Array]) -> pb.LayerParameter:
        """Write a window of an object and one of background for each image."""
        made, images, parts = copy_of(self.layer), values[0], list[str]()
        channels, height, width = images.shape[1:]
        for index, name in enumerate(write_images(map(as_pixels, images), folder)):
            parts += [f"# {index}", name, *map(str, (channels, height, width, 2))]
            parts += [f"1 1.0 0 0 {width // 2} {height // 2}", f"0 0.0 0 0 {width - 1} {height - 1}"]
        (folder / "windows.txt").write_text("\n".join(parts) + "\n")
        made.window_data_param.source = str(folder / "windows.txt")
        made.window_data_param.root_folder = f"{folder}/"
        write_mean_file(made, images.shape[1:], folder)
        return made
