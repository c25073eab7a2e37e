"""DataHeatmap: caffe-heatmap's images from files, with a map for each joint."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.data.batches.reading import Intake, Reading
from netdsl.data.sources.joint_list import ClusteredJoints, JointListSource, listed_joints
from netdsl.data.transforms.decode import resize
from netdsl.data.transforms.heatmap_transform import HeatmapTransform
from netdsl.data.types import Array
from netdsl.data.writing.sample_files import as_pixels, write_images, write_list
from netdsl.errors import NetError
from netdsl.layer import Shape
from netdsl.layer.data import HasSampleFiles
from netdsl.layers._data import DataLayer, check_source, refuse_table

_JOINTS = 7  # the number of joints in FLIC, the fork's data set
_NO_CROP, _NO_CLUSTER = "0,0,0,0,0", 0


class DataHeatmap(DataLayer, HasSampleFiles):
    """Reads square parts of RGB images, and a map with a Gaussian for each joint."""

    config = pb.HeatmapDataParameter
    tops = (2, 2)

    def batch_size(self) -> int:
        return self.layer.heatmap_data_param.batchsize

    def item_shapes(self) -> Sequence[Shape | None]:
        p = self.layer.heatmap_data_param
        joints = len(p.labelinds.split(",")) // 2 or listed_joints(p.source) or _JOINTS
        return [self.image((p.outsize, p.outsize)), (joints, p.label_height, p.label_width)]

    def intake(self) -> Intake:
        raise refuse_table()

    def reading(self, seed: int) -> Reading:
        p = self.layer.heatmap_data_param
        check_source(p)
        if p.meanfile:
            raise NetError("meanfile, a file with a mean for each video, isn't supported; remove meanfile")
        source = ClusteredJoints(p, seed=seed) if p.sample_per_cluster else JointListSource(p)
        if p.random_crop and p.flip_joint_labels and source.joints % 2 != p.dont_flip_first:
            raise NetError(
                f"{source.joints} joints can't be mirrored in pairs; set dont_flip_first: "
                f"{str(bool(source.joints % 2)).lower()}"
            )
        return Reading(source, p.batchsize, name=p.source, item_transform=HeatmapTransform(p))

    def write_samples(self, folder: Path, values: Sequence[Array]) -> pb.LayerParameter:
        made = copy_of(self.layer)
        p, count = made.heatmap_data_param, len(values[0])
        images = [resize(as_pixels(image), p.cropsize, p.cropsize) for image in values[0]]
        last = max([2 * values[1].shape[1], *(int(number) for number in p.labelinds.split(",") if number)])
        places = np.linspace(0.2, 0.8, last) * p.cropsize / p.multfact
        joints = ",".join(f"{place:.6f}" for place in places)
        (folder / "segs").mkdir()
        write_images((np.zeros_like(image[:1]) for image in images), folder / "segs")
        names = write_images(images, folder)
        p.source = write_list(folder, names, [joints] * count, [_NO_CROP] * count, [_NO_CLUSTER] * count)
        p.root_img_dir = f"{folder}/"
        p.ClearField("meanfile")
        return made
