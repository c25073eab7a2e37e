"""The shared code of data layers: tops from outside the net, whose shapes follow from the settings where possible."""

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

_FORKS = 500000000  # the field numbers of forks start here
_DATABASES = {pb.DataParameter.LEVELDB: LevelDbSource, pb.DataParameter.LMDB: LmdbSource}
_OF_DATABASES = ("shuffle", "threads", "parser_threads", "cache", "precache", "disk_reader_threads", "verbose")
Size = tuple[int, int]


class _HasSource(Protocol):
    """The settings of a layer that reads files."""

    @property
    def source(self) -> str: ...


class DataLayer(BringsData):
    """A layer without bottoms. A subclass states the batch size and, in `item_shapes`, the shape of an item.

    The shape of a top is the one in `input_param` if the caller has written it there, as for an Input layer.
    `input_param` isn't a setting of the layer, so it is removed from the message. Otherwise the shape follows from the
    settings for crop, new size and resizing. Other lengths are unknown until the data are read.
    """

    tops: ClassVar[Count] = (2, 2)
    data_origin = DataOrigin.FILES
    deploys_as = INPUT_TYPE
    images_alone: ClassVar[bool] = False  # whether transform_param applies only to the first top

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.assumed = stated_shapes(layer)
        if len(self.assumed) > len(layer.top):
            raise NetError(f"{len(self.assumed)} shapes are assumed for {len(layer.top)} tops; give one for each")
        layer.ClearField("input_param")
        if self.batch_size() < 1:
            raise NetError(f"batch_size is {self.batch_size()}; set it to 1 or more")

    def batch_size(self) -> int:
        """Return the number of items in a batch according to the settings."""
        raise NotImplementedError

    def stated_batch(self) -> int:
        return self.batch_size()

    def item_shapes(self) -> Sequence[Shape | None]:
        """Return the shapes of one item's tops. The default is an image and a number.

        A shape is `None` if nothing about it is known.
        """
        return [self.image(), ()]

    def known_shapes(self) -> list[Shape | None]:
        """Return the assumed shapes, or else the items' shapes with the batch in front."""
        batch = self.assumed[0][0] if self.assumed and self.assumed[0] else self.batch_size()
        items = self.item_shapes()[: len(self.layer.top)]
        own = [shape if shape is None or len(shape) == 4 else (batch, *shape) for shape in items]
        return [known or shape for known, shape in zip_longest(self.assumed, own)]

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        """Return the known shapes. Raises a `NetError` if a shape isn't fully known."""
        shapes = self.known_shapes()
        for name, shape in zip(self.layer.top, shapes, strict=False):
            if shape is None or UNKNOWN in shape:
                raise NetError(
                    f"the shape of '{name}' isn't known before the data are read; state it, as in --assume "
                    f"{name}=3x224x224"
                )
        return [shape for shape in shapes if shape is not None]

    def intake(self) -> Intake:
        """Return an intake with unknown shapes, since only the data determine them."""
        if self.layer.HasField("transform_param") and not self.images_alone:
            raise refuse_table()
        tops = tuple(self.layer.top)
        return Intake(tops, self.batch_size(), (None,) * len(tops), self.transform(), self.is_gray())

    def is_gray(self) -> bool:
        """Return whether images are read in gray. Caffe reads `force_gray` only for encoded images in databases."""
        return False

    def image(self, *sizes: Size) -> Shape:
        """Return the channels, height and width of the first top.

        They are the assumed ones, or follow from the first of these sizes that is set.
        """
        if self.assumed and self.assumed[0]:
            return self.assumed[0][-3:]
        p = self.layer.transform_param
        crops = (p.crop_size, p.crop_size), (p.crop_h, p.crop_w), (p.crop_height, p.crop_width)
        resized = [(each.height, each.width) for each in p.resize_param[:1]]
        height, width = next((size for size in (*crops, *sizes, *resized) if all(size)), (UNKNOWN, UNKNOWN))
        return self.channels(), height, width

    def channels(self) -> int:
        """Return the number of channels of the images."""
        return GRAY if self.is_gray() else COLORS


class DatumData(DataLayer, HasDatabaseForm):
    """A layer that reads images and labels that fit into a Caffe database."""

    images_alone = True

    def settings(self) -> pb.DataParameter | pb.ImageDataParameter:
        """Return the part of the layer's settings that names the source and the batch size."""
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
    """A layer that reads images and label maps of the same size from files. `image_data_param` has its settings."""

    config = pb.ImageDataParameter
    white: ClassVar[int] = 1  # the brightness that stands for the label 1 in a map

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
        """Write the label maps of made-up images. Returns the text that follows each image's name in the list."""
        return write_images((as_labels(self.white * labels) for labels in maps), folder, "map")


def refuse_table() -> NetError:
    """Return the error for a layer whose tops depend on each other, so that a table's columns can't supply them."""
    return NetError(
        "the layer transforms its tops together, which isn't possible for a table's columns; use an Input layer"
    )


def check_forks(settings: Message, *known: str) -> None:
    """Raise a `NetError` for forks' data settings that aren't supported. `known` are settings that only affect
    speed."""
    own = [field.name for field in settings.DESCRIPTOR.fields if field.number > _FORKS and field.name not in known]
    refuse(settings, *own)


def check_source(settings: _HasSource) -> None:
    """Raise a `NetError` if the settings don't name a source."""
    if not settings.source:
        raise NetError("source is missing; set it to the path of the data")


def check_database(p: pb.DataParameter) -> None:
    """Raise a `NetError` if the settings name no database or contain an unsupported setting."""
    check_source(p)
    check_forks(p, *_OF_DATABASES)


def open_database(p: pb.DataParameter, transform: pb.TransformationParameter) -> DatumSource:
    """Return the source that reads the layer's database."""
    if p.backend not in _DATABASES:
        raise NetError(f"backend {pb.DataParameter.DB.Name(p.backend)} isn't supported; use LMDB or LEVELDB")
    return _DATABASES[p.backend](p.source, database_color(p, transform))


def database_color(p: pb.DataParameter, transform: pb.TransformationParameter) -> Color:
    """Return the color mode in which encoded images of a database are decoded."""
    return Color.COLOR if p.force_encoded_color else Color.of(transform)


def channels_in_database(layer: pb.LayerParameter) -> int:
    """Return the channels of images in a database, or UNKNOWN if the images keep their stored colors."""
    return GRAY if decodes_gray(layer) else COLORS if layer.data_param.force_encoded_color else UNKNOWN


def decodes_gray(layer: pb.LayerParameter) -> bool:
    """Return whether the layer decodes the database's encoded images to gray."""
    return layer.transform_param.force_gray and not layer.data_param.force_encoded_color


def passed_over(rand_skip: int, seed: int) -> int:
    """Return how many items are skipped at the beginning. Caffe's rule: fewer than `rand_skip`."""
    return int(np.random.default_rng(seed).integers(rand_skip)) if rand_skip else 0


def both_or_none(height: int, width: int, what: str) -> Size:
    """Return a size for which Caffe requires both numbers or neither."""
    if bool(height) != bool(width):
        raise NetError(f"only one of {what}_height and {what}_width is set; set both or neither")
    return height, width


class LabeledImages(ImagesWithMaps):
    """A layer whose list contains labels as `label_type` defines them.

    With `windows`, the list also contains the part of each image to show.
    """

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
