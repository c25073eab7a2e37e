"""LaneData: MobileNet-YOLO's images of roads, with lanes as points and as a map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.data.batches.reading import Reading
from netdsl.data.sources.datum import MOST_LANES, MOST_POINTS, LaneDatumSource
from netdsl.data.transforms.boxes import Jitter
from netdsl.data.transforms.lane_transform import LaneTransform
from netdsl.data.types import Array, Random
from netdsl.data.writing.databases import write_records
from netdsl.data.writing.sample_files import lane_samples, write_mean_file
from netdsl.errors import NetError
from netdsl.layer import Shape
from netdsl.layer.data import HasSampleFiles
from netdsl.layers._data import (
    DataLayer,
    channels_in_database,
    check_database,
    decodes_gray,
    open_database,
    passed_over,
)
from netdsl.layers._settings import refuse

_OF_BOXES = "train_diffcult", "difficult_label_warmup", "single_class"


class LaneData(DataLayer, HasSampleFiles):
    """Reads images, rows of points (x, y, lane) and lane maps.

    A map is `seg_scales` times smaller than the image unless its own size is set.
    """

    origin = "MobileNet-YOLO"
    config = pb.AnnotatedDataParameter
    tops = (1, 3)

    def batch_size(self) -> int:
        return self.layer.data_param.batch_size

    def item_shapes(self) -> Sequence[Shape | None]:
        image, divisor = self.image(), self._divisor()
        size = self._map_size() or (image[1] // divisor, image[2] // divisor)
        return [image, (MOST_LANES, MOST_POINTS, 3), (1, *size)]

    def is_gray(self) -> bool:
        return decodes_gray(self.layer)

    def channels(self) -> int:
        return channels_in_database(self.layer)

    def reading(self, seed: int) -> Reading:
        p, data = self.layer.annotated_data_param, self.layer.data_param
        check_database(data)
        refuse(p, *_OF_BOXES)
        if p.HasField("anno_type") and p.anno_type != pb.AnnotatedDatum.LANE:
            raise NetError("anno_type isn't LANE; set it to LANE, or use AnnotatedData for a database of boxes")
        if p.batch_sampler:
            raise NetError("batch_sampler needs boxes, but lanes have none; use yolo_data_jitter")
        transform = LaneTransform(
            self.layer.transform_param,
            Jitter(p.yolo_data_jitter, keeps_proportions=False) if p.yolo_data_type == 1 else None,
            divisor=self._divisor(),
            map_size=self._map_size(),
            train=self.layer.phase == pb.TRAIN,
        )
        source = LaneDatumSource(open_database(data, self.layer.transform_param))
        return Reading(
            source,
            data.batch_size,
            shuffle=data.shuffle,
            start=passed_over(data.rand_skip, seed),
            name=data.source,
            item_transform=_FirstTops(transform, len(self.layer.top)),
        )

    def write_samples(self, folder: Path, values: Sequence[Array]) -> pb.LayerParameter:
        made = copy_of(self.layer)
        write_records(folder / "items", lane_samples(values[0]))
        write_mean_file(made, values[0].shape[1:], folder)
        made.data_param.source, made.data_param.backend = str(folder / "items"), pb.DataParameter.LMDB
        made.data_param.ClearField("rand_skip")
        return made

    def _divisor(self) -> int:
        return max(1, self.layer.annotated_data_param.seg_scales)

    def _map_size(self) -> tuple[int, int] | None:
        """Return the height and width of the maps, or `None` if the settings don't contain them."""
        p = self.layer.annotated_data_param
        both = p.seg_resize_height, p.seg_resize_width
        return both if all(both) else None


@dataclass(frozen=True)
class _FirstTops:
    """The first tops of an item."""

    transform: LaneTransform
    count: int

    def __call__(self, item: tuple[Array, ...], random: Random, batch: int) -> tuple[Array, ...]:
        """Return the tops of an item."""
        return self.transform(item, random, batch)[: self.count]
