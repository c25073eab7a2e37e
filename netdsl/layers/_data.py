"""What layers share that read data: tops from outside, whose shapes the settings say as far as they can."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import ClassVar, Protocol

import numpy as np
from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.data.batches.reading import Intake, Reading
from netdsl.data.sources.datum import DatumSource
from netdsl.data.sources.leveldb import LevelDbSource
from netdsl.data.sources.lmdb import LmdbSource
from netdsl.data.sources.segmentation import image_seg_source
from netdsl.data.transforms.decode import COLORS, GRAY, Color
from netdsl.data.types import Array
from netdsl.data.writing.sample_files import as_labels, as_pixels, write_images, write_list, write_mean_file
from netdsl.errors import NetError
from netdsl.layer import BringsData, Count, Shape
from netdsl.layer.data import (
    INPUT_TYPE,
    UNKNOWN,
    DataOrigin,
    HasDatabaseForm,
    HasSampleFiles,
    stated_shapes,
)
from netdsl.layers._settings import refuse

_FORKS = 500000000  # the fields of forks are numbered from here
_DATABASES = {pb.DataParameter.LEVELDB: LevelDbSource, pb.DataParameter.LMDB: LmdbSource}
_OF_DATABASES = ("shuffle", "threads", "parser_threads", "cache", "precache", "disk_reader_threads", "verbose")
Size = tuple[int, int]


class _HasSource(Protocol):
    """Settings of a layer that reads files."""

    @property
    def source(self) -> str: ...


class DataLayer(BringsData):
    """A layer without bottoms. A type says how many items a batch has, and with `item_shapes` what one looks like.

    The shape of a top is the one in `input_param`, if somebody who knows put one there for it, as an Input layer has
    it; it isn't a setting of the layer's, and not kept in its message. Otherwise it is what crop, new size or resizing
    make of an image; lengths that these don't say are unknown until the data are read.
    """

    tops: ClassVar[Count] = (2, 2)
    data_origin = DataOrigin.FILES
    deploys_as = INPUT_TYPE
    images_alone: ClassVar[bool] = False  # whether transform_param is for the first top, and the others stay

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.assumed = stated_shapes(layer)
        if len(self.assumed) > len(layer.top):
            raise NetError(f"{len(self.assumed)} shapes are assumed for {len(layer.top)} tops")
        layer.ClearField("input_param")
        if self.batch_size() < 1:
            raise NetError(f"needs a batch_size of 1 or more, not {self.batch_size()}")

    def batch_size(self) -> int:
        """Return how many items its settings ask for."""
        raise NotImplementedError

    def stated_batch(self) -> int:
        return self.batch_size()

    def item_shapes(self) -> Sequence[Shape | None]:
        """Return what the settings say of one item's tops, by default an image and a number: None for no shape at
        all."""
        return [self.image(), ()]

    def known_shapes(self) -> list[Shape | None]:
        """Return those that are assumed; else the items', with the batch in front of those that don't have it yet."""
        batch = self.assumed[0][0] if self.assumed and self.assumed[0] else self.batch_size()
        items = self.item_shapes()[: len(self.layer.top)]
        own = [shape if shape is None or len(shape) == 4 else (batch, *shape) for shape in items]
        return [known or shape for known, shape in zip_longest(self.assumed, own)]

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        """Return the known shapes; an error if one isn't."""
        shapes = self.known_shapes()
        for name, shape in zip(self.layer.top, shapes, strict=False):
            if shape is None or UNKNOWN in shape:
                raise NetError(f"nothing says the shape of '{name}'; it is known when the data are read, or said")
        return [shape for shape in shapes if shape is not None]

    def intake(self) -> Intake:
        """Return only the data say what shapes items have."""
        if self.layer.HasField("transform_param") and not self.images_alone:
            raise refuse_table()
        tops = tuple(self.layer.top)
        return Intake(tops, self.batch_size(), (None,) * len(tops), self.transform(), self.is_gray())

    def is_gray(self) -> bool:
        """Return whether images are read without colours. Caffe asks `force_gray` only about encoded images of
        databases."""
        return False

    def image(self, *sizes: Size) -> Shape:
        """Channels, height and width of the first top: assumed, or what the first of these sizes that is set makes."""
        if self.assumed and self.assumed[0]:
            return self.assumed[0][-3:]
        p = self.layer.transform_param
        crops = (p.crop_size, p.crop_size), (p.crop_h, p.crop_w), (p.crop_height, p.crop_width)
        resized = [(each.height, each.width) for each in p.resize_param[:1]]
        height, width = next((size for size in (*crops, *sizes, *resized) if all(size)), (UNKNOWN, UNKNOWN))
        return self.channels(), height, width

    def channels(self) -> int:
        """Return the channels of images."""
        return GRAY if self.is_gray() else COLORS


class DatumData(DataLayer, HasDatabaseForm):
    """A layer of images and numbers, as Caffe's databases have them."""

    images_alone = True

    def settings(self) -> pb.DataParameter | pb.ImageDataParameter:
        """Return what the layer's own message says of the source and the batch."""
        raise NotImplementedError

    def batch_size(self) -> int:
        return self.settings().batch_size

    def from_database(self, path: str, settings: pb.TransformationParameter) -> pb.LayerParameter:
        made, own = copy_of(self.layer, without=("data_param", "image_data_param", "transform_param")), self.settings()
        made.type = "Data"
        made.data_param.source, made.data_param.backend = path, pb.DataParameter.LMDB
        made.data_param.batch_size = own.batch_size
        if own.rand_skip:
            made.data_param.rand_skip = own.rand_skip
        if settings.ByteSize():
            made.transform_param.CopyFrom(settings)
        return made


class ImagesWithMaps(DataLayer, HasSampleFiles):
    """A type that brings images from files with a map of labels of the same size, as image_data_param says."""

    config = pb.ImageDataParameter
    white: ClassVar[int] = 1  # how bright the label 1 is in a map

    def batch_size(self) -> int:
        return self.layer.image_data_param.batch_size

    def item_shapes(self) -> Sequence[Shape | None]:
        p = self.layer.image_data_param
        image = self.image(both_or_none(p.new_height, p.new_width, "new"))
        return [image, (1, *image[-2:])]

    def is_gray(self) -> bool:
        return not self.layer.image_data_param.is_color

    def write_samples(self, folder: Path, values: Sequence[Array]) -> pb.LayerParameter:
        made = copy_of(self.layer)
        p = made.image_data_param
        names = write_images(map(as_pixels, values[0]), folder)
        p.source, p.root_folder = write_list(folder, names, self.write_labels(folder, values[1])), f"{folder}/"
        p.ClearField("rand_skip")
        write_mean_file(made, values[0].shape[1:], folder)
        return made

    def write_labels(self, folder: Path, maps: Array) -> list[str]:
        """Write the maps of made-up images; what a list says of each behind the image's name."""
        return write_images((as_labels(self.white * labels) for labels in maps), folder, "map")


def refuse_table() -> NetError:
    """Return the error about columns of a table for a layer whose tops are made of each other."""
    return NetError("transforms its tops together, which a table's columns can't be; take an Input layer")


def check_forks(settings: Message, *known: str) -> None:
    """Refuse what forks of Caffe can ask of their data and we don't do, but for what only makes them faster."""
    own = [field.name for field in settings.DESCRIPTOR.fields if field.number > _FORKS and field.name not in known]
    refuse(settings, *own)


def check_source(settings: _HasSource) -> None:
    """Raise a NetError if a layer's settings don't say what it reads."""
    if not settings.source:
        raise NetError("needs a source, the path of what it reads")


def check_database(p: pb.DataParameter) -> None:
    """Refuse settings of a database that names none, or asks for what we don't do."""
    check_source(p)
    check_forks(p, *_OF_DATABASES)


def open_database(p: pb.DataParameter, transform: pb.TransformationParameter) -> DatumSource:
    """Return the database that a layer names."""
    if p.backend not in _DATABASES:
        raise NetError(f"backend {pb.DataParameter.DB.Name(p.backend)} can't be read; take LMDB or LEVELDB")
    return _DATABASES[p.backend](p.source, database_color(p, transform))


def database_color(p: pb.DataParameter, transform: pb.TransformationParameter) -> Color:
    """Return the channels that encoded images of a database are decoded to."""
    return Color.COLOR if p.force_encoded_color else Color.of(transform)


def channels_in_database(layer: pb.LayerParameter) -> int:
    """Return the channels of images in a database: as they were stored, unless they are decoded to gray or to
    colours."""
    return GRAY if decodes_gray(layer) else COLORS if layer.data_param.force_encoded_color else UNKNOWN


def decodes_gray(layer: pb.LayerParameter) -> bool:
    """Return whether the encoded images of a database that a layer names lose their colours."""
    return layer.transform_param.force_gray and not layer.data_param.force_encoded_color


def passed_over(rand_skip: int, seed: int) -> int:
    """Caffe's rule: some items, fewer than `rand_skip`, are passed over at the beginning."""
    return int(np.random.default_rng(seed).integers(rand_skip)) if rand_skip else 0


def both_or_none(height: int, width: int, what: str) -> Size:
    """Return a size of which Caffe wants both numbers or neither."""
    if bool(height) != bool(width):
        raise NetError(f"{what}_height and {what}_width go together: give both or neither")
    return height, width


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
