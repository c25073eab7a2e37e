"""AnnotatedData: SSD's images from a database, with the boxes of their objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.data.batches.reading import Reading
from netdsl.data.sources.annotations.records import MarkedItems
from netdsl.data.sources.class_names import class_groups, read_class_names
from netdsl.data.sources.datum import AnnotatedDatumSource, DatumSource
from netdsl.data.sources.open_source import find_source, has_kind_prefix
from netdsl.data.sources.source_name import Content
from netdsl.data.transforms.annotated_transform import AnnotatedTransform, ClassMaps
from netdsl.data.transforms.boxes import BatchSamplers, Jitter, WindowDraw, batch_rows, centered_rows
from netdsl.data.types import Array, Random
from netdsl.data.writing.databases import write_records
from netdsl.data.writing.sample_files import annotated_samples, write_class_groups, write_mean_file
from netdsl.errors import NetError
from netdsl.layer import Shape
from netdsl.layer.data import HasSampleFiles
from netdsl.layer.samples import BlobKind
from netdsl.layers._data import (
    DataLayer,
    channels_in_database,
    check_database,
    database_color,
    decodes_gray,
    open_database,
    passed_over,
)
from netdsl.layers._settings import refuse

_FITTING, _COVERING = pb.ResizeParameter.FIT_LARGE_SIZE_AND_PAD, pb.ResizeParameter.FIT_SMALL_SIZE
_MAP = 2  # the index of the top with class maps
_DOUBT = "AnnotatedData without a batch_sampler is assumed to use whole images; MobileNet-YOLO's uses random parts"


class AnnotatedData(DataLayer, HasSampleFiles):
    """Reads images and rows of (image, label, instance, x1, y1, x2, y2, difficult).

    In MobileNet-YOLO, it also reads class maps. The number of rows differs from batch to batch. The shapes assume one
    row for each image. A batch without objects has one row of -1. With `yolo_data_type: 1`, there are 300 rows of
    (class, x, y, width, height) for each image. The maps have one channel for each number in the label map, or a single
    channel for all classes. Without a label map, the shapes assume a single channel.
    """

    config = pb.AnnotatedDataParameter
    tops = (1, 3)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.jitter = self._jitter()

    def _jitter(self) -> float:
        """Return the part of an image that MobileNet-YOLO's random crop may cut off."""
        p = self.layer.annotated_data_param
        if p.batch_sampler or p.HasField("yolo_data_jitter"):
            return p.yolo_data_jitter
        return self.by_dialect({"mobilenet-yolo": p.yolo_data_jitter}, 0.0, _DOUBT)

    def batch_size(self) -> int:
        return self.layer.data_param.batch_size

    def top_kind(self, place: int) -> BlobKind:
        return BlobKind.OBJECT if place == 1 and not self._is_for_yolo() else BlobKind.NUMBER

    def item_shapes(self) -> Sequence[Shape | None]:
        p, image = self.layer.annotated_data_param, self.image()
        boxes = (1, 300, 5) if self._is_for_yolo() else (1, 1, self.batch_size(), 8)
        scales = max(1, p.seg_scales)
        size = _map_size(p) or (image[1] // scales, image[2] // scales)
        return [image, boxes, (self._map_channels(), *size)]

    def is_gray(self) -> bool:
        return decodes_gray(self.layer)

    def channels(self) -> int:
        return channels_in_database(self.layer)

    def reading(self, seed: int) -> Reading:
        p, data = self.layer.annotated_data_param, self.layer.data_param
        check_database(data)
        refuse(p, "difficult_label_warmup")
        if p.HasField("anno_type") and p.anno_type == pb.AnnotatedDatum.LANE:
            raise NetError(
                "anno_type LANE belongs to LaneData; set type: 'LaneData', or use a database with anno_type BBOX"
            )
        self._check_resizing()
        transform = AnnotatedTransform(
            self.layer.transform_param,
            self._draw_window(),
            self._class_maps(),
            train=self.layer.phase == pb.TRAIN,
            seed=seed,
        )
        source = self._source()
        tops = _ItemTops(transform, len(self.layer.top), self._row_form(source))
        has_rows = source.annotated and len(self.layer.top) > 1 and not self._is_for_yolo()
        return Reading(
            source,
            data.batch_size,
            shuffle=data.shuffle,
            start=passed_over(data.rand_skip, seed),
            name=data.source,
            collate=batch_rows if has_rows else None,
            item_transform=tops,
        )

    def write_samples(self, folder: Path, values: Sequence[Array]) -> pb.LayerParameter:
        """Write samples in which each image has an object of the first class."""
        made, p = copy_of(self.layer), self.layer.annotated_data_param
        if len(self.layer.top) > _MAP and not p.single_class:
            made.annotated_data_param.label_map_file = str(folder / "classes.prototxt")
            write_class_groups(folder / "classes.prototxt", values[_MAP].shape[1])
        write_records(folder / "items", annotated_samples(values[0], white=p.single_class))
        write_mean_file(made, values[0].shape[1:], folder)
        made.data_param.source, made.data_param.backend = str(folder / "items"), pb.DataParameter.LMDB
        made.data_param.ClearField("rand_skip")
        return made

    def _is_for_yolo(self) -> bool:
        return self.layer.annotated_data_param.yolo_data_type == 1

    def _check_resizing(self) -> None:
        """Raise a `NetError` if images of different sizes would share a batch, as Caffe does."""
        modes = {each.resize_mode for each in self.layer.transform_param.resize_param}
        if _COVERING in modes and self.batch_size() != 1:
            raise NetError("resize_mode FIT_SMALL_SIZE makes images of different sizes; set batch_size to 1")

    def _draw_window(self) -> WindowDraw | None:
        p = self.layer.annotated_data_param
        if p.batch_sampler:
            return BatchSamplers(p.batch_sampler)
        modes = {each.resize_mode for each in self.layer.transform_param.resize_param}
        if self.jitter and len(modes) > 1 and _FITTING in modes:
            raise NetError(
                "yolo_data_jitter can't be combined with resize modes of different proportions; give a single "
                "resize_mode"
            )
        return Jitter(self.jitter, keeps_proportions=modes == {_FITTING}) if self.jitter else None

    def _class_maps(self) -> ClassMaps | None:
        p = self.layer.annotated_data_param
        if len(self.layer.top) <= _MAP:
            return None
        if not p.single_class and not p.label_map_file:
            raise NetError("label_map_file is missing; set it to the file that names the classes of the maps' channels")
        channels = None if p.single_class else class_groups(p.label_map_file)
        return ClassMaps(channels, divisor=max(1, p.seg_scales), size=_map_size(p))

    def _map_channels(self) -> int:
        """Return the number of channels in the class maps, which is 1 without a label map."""
        p = self.layer.annotated_data_param
        is_known = len(self.layer.top) > _MAP and not p.single_class and Path(p.label_map_file).is_file()
        return len(class_groups(p.label_map_file)) if is_known else 1

    def _source(self) -> AnnotatedDatumSource | MarkedItems:
        """Return the database, or the data set that a name such as `voc:FOLDER` stands for.

        Caffe doesn't support such names. If there is a label map, it names the database's classes. Caffe never opens
        it.
        """
        p, name, has_maps = self.layer.annotated_data_param, self.layer.data_param.source, len(self.layer.top) > _MAP
        color = database_color(self.layer.data_param, self.layer.transform_param)
        source = find_source(name)
        if source is not None and not source.form.is_database and source.content is Content.MARKED_IMAGES:
            return MarkedItems(source.open_marked(), color, maps=has_maps)
        if source is not None and has_kind_prefix(name):
            records = source.open(color=color)
            if not isinstance(records, DatumSource):
                raise NetError(
                    f"{name}: the source is neither a database nor a set of images with marked objects; name "
                    "lmdb:PATH, voc:FOLDER, coco:FILE.json or another set of `zoo data --help`"
                )
        else:
            records = open_database(self.layer.data_param, self.layer.transform_param)
        names = () if has_maps or not Path(p.label_map_file).is_file() else read_class_names(p.label_map_file)
        return AnnotatedDatumSource(records, annotated=p.HasField("anno_type"), maps=has_maps, classes=names)

    def _row_form(self, source: AnnotatedDatumSource | MarkedItems) -> Callable[[Array], Array]:
        """Return the function that converts an image's rows or label."""
        if not source.annotated:
            return _as_map
        if self._is_for_yolo():
            return partial(centered_rows, difficult=self.layer.annotated_data_param.train_diffcult)
        return _as_it_is


@dataclass(frozen=True)
class _ItemTops:
    """The first tops of an item. A function converts the second one."""

    transform: AnnotatedTransform
    count: int
    form: Callable[[Array], Array]

    def __call__(self, item: tuple[Array, ...], random: Random, batch: int) -> tuple[Array, ...]:
        """Return the tops of an item."""
        image, rows, *maps = self.transform(item, random, batch)
        return (image, self.form(rows), *maps)[: self.count]


def _map_size(p: pb.AnnotatedDataParameter) -> tuple[int, int] | None:
    """Return the height and width of the class maps, or `None` if the settings don't contain them."""
    return (p.seg_resize_height, p.seg_resize_width) if p.seg_resize_height and p.seg_resize_width else None


def _as_it_is(rows: Array) -> Array:
    return rows


def _as_map(label: Array) -> Array:
    return label.reshape(1, 1, 1)
