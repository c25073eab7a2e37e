"""What DeepLab's and DeconvNet's layers share: images with labels for their pixels, which are a map, or one for all."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.reading import Reading
from netdsl.data.sources.segmentation import image_seg_source
from netdsl.data.types import Array
from netdsl.layers._data import ImagesWithMaps, check_forks, check_source, passed_over


class LabelledImages(ImagesWithMaps):
    """A type whose list says what `label_type` names, and in `windows` also the part of an image that is shown."""

    windows: ClassVar[bool] = False

    def reading(self, seed: int) -> Reading:
        p = self.layer.image_data_param
        check_source(p)
        check_forks(p, "ignore_label", "label_type")
        source = image_seg_source(
            p,
            self.layer.transform_param,
            train=self.layer.phase == pb.TRAIN,
            sizes=len(self.layer.top) > 2,
            windows=self.windows,
            seed=seed,
        )
        return Reading(source, p.batch_size, start=passed_over(p.rand_skip, seed), name=p.source)

    def write_labels(self, folder: Path, maps: Array) -> list[str]:
        kind, height, width = self.layer.image_data_param.label_type, *maps.shape[-2:]
        labels = super().write_labels(folder, maps) if kind == pb.ImageDataParameter.PIXEL else ["0"] * len(maps)
        if kind == pb.ImageDataParameter.NONE:
            labels = [""] * len(maps)
        return [f"{label} 0 0 {width - 1} {height - 1}" for label in labels] if self.windows else labels
