"""`BringsData`: layers whose tops come from outside the net, and what those tops are read from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum, auto
from pathlib import Path
from typing import ClassVar

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.reading import Intake, Reading
from netdsl.data.transforms.transform import Transform
from netdsl.data.types import Array
from netdsl.errors import NetError
from netdsl.layer.blobs import Shape
from netdsl.layer.core import Layer
from netdsl.layer.samples import BlobKind

INPUT_TYPE = "Input"  # the type whose tops are the inputs of a net
UNKNOWN = -1  # a length in a shape that settings don't say; divided by a stride it stays unknown
_BATCH_FIELDS = "batch_size", "batchsize"  # that say how many items a batch has


class DataOrigin(Enum):
    """Where the tops of a data layer come from."""

    INPUT = auto()  # they are the net's inputs, which its caller gives by name
    ARRAYS = auto()  # the program hands over all items at once
    FILES = auto()  # the layer reads them itself


class BringsData(Layer):
    """A layer without bottoms whose tops come from outside; its `forward` is never called."""

    bottoms = (0, 0)
    data_origin: ClassVar[DataOrigin]
    any_size: ClassVar[bool] = False  # whether images keep their sizes, so that the shape has only a typical one

    def top_kind(self, place: int) -> BlobKind:
        """Return what values a top has, as far as that doesn't depend on who reads it."""
        return BlobKind.NUMBER

    def known_shapes(self) -> list[Shape | None]:
        """Return what the settings say of the shapes of its tops: UNKNOWN where a length is missing, None for no
        shape."""
        shapes = self.top_shapes([])
        if any(min(shape, default=0) < 0 for shape in shapes):
            raise NetError("no length can be negative")
        return [shape or None for shape in shapes]

    def stated_batch(self) -> int | None:
        """Return how many items of a top without any known shape are in a batch, if the settings say it."""
        return None

    def typical_size(self) -> tuple[int, int] | None:
        """Return the height and width that images of its data set usually have, if it is for one."""
        return None

    def reading(self, seed: int) -> Reading:
        """Open the files that the tops are read from."""
        kind = self.layer.type
        raise NetError(f"data of type {kind} can't be read; give its tops by name, or take another data layer")

    def note_data(self, layer: pb.LayerParameter) -> None:
        """Write into the layer's message in a net what only its data say, once they are open.

        The shapes of its tops are written for every type.
        """

    def intake(self) -> Intake:
        """Return what the layer takes of every row of a table."""
        shapes = self.top_shapes([])
        sizes = {shape[0] if shape else 0 for shape in shapes}
        if len(sizes) > 1 or 0 in sizes:
            raise NetError("needs shapes with the same first number, which says how many rows a batch has")
        gray = self.layer.transform_param.force_gray or any(len(shape) == 4 and shape[1] == 1 for shape in shapes)
        return Intake(tuple(self.layer.top), sizes.pop(), tuple(shape[1:] for shape in shapes), self.transform(), gray)

    def transform(self) -> Transform | None:
        """Return what is done to the images that the layer takes; there is chance in it in the TRAIN phase only."""
        p = self.layer
        return Transform(p.transform_param, train=p.phase == pb.TRAIN) if p.HasField("transform_param") else None


class NamesSource(BringsData):
    """A data layer whose own settings name what it reads, though it has no `data_param`."""

    @classmethod
    def name_source(cls, layer: pb.LayerParameter, source: str) -> None:
        """Let a layer's message name another source."""
        raise NotImplementedError


class HasDatabaseForm(BringsData):
    """A data layer of images with labels, whose items fit into a database that Caffe reads by a layer of its own."""

    def unknown_source(self) -> str | None:
        """Return the name of the source if it is one that Caffe doesn't know."""
        return None

    def from_database(self, path: str, settings: pb.TransformationParameter) -> pb.LayerParameter:
        """Return the layer that reads batches of the same size from an LMDB, and transforms images by these
        settings."""
        raise NotImplementedError


class HasSampleFiles(BringsData):
    """A layer that reads files, and can make such files up, so that a net is tried where its data set isn't."""

    def stored(self, values: Array, kind: BlobKind) -> Array:
        """Made-up values of a top as files have them, by the kind that those who read the top want."""
        return values

    def write_samples(self, folder: Path, values: Sequence[Array]) -> pb.LayerParameter:
        """Write a batch of made-up values of its tops into an empty folder, as files of the form that the layer reads.

        What is returned is the layer that reads them, with the same settings otherwise.
        """
        raise NotImplementedError


class MakesData(Layer):
    """A layer without bottoms that computes its tops by itself, the first time when the net is set up."""

    bottoms = (0, 0)
    deploys_as = INPUT_TYPE


def state_batch(layer: pb.LayerParameter, batch: int) -> bool:
    """Write how many items a batch has into a data layer's message; False if nothing in it says that."""
    for shape in layer.input_param.shape:
        shape.dim[:1] = [batch] if shape.dim else []
    settings = [
        (value, field.name)
        for _, value in layer.ListFields()
        for field in (value.DESCRIPTOR.fields if isinstance(value, Message) else ())
        if field.name in _BATCH_FIELDS
    ]
    for message, name in settings:
        setattr(message, name, batch)
    return bool(settings or layer.input_param.shape)


def limit_batch(layer: pb.LayerParameter, most: int) -> None:
    """Let a layer that brings or makes data have no larger batch, as far as its message says one."""
    for _, settings in layer.ListFields():
        for setting, value in settings.ListFields() if isinstance(settings, Message) else ():
            if setting.name in _BATCH_FIELDS and value > most:
                setattr(settings, setting.name, most)
            for shape in value if setting.message_type is pb.BlobShape.DESCRIPTOR else ():
                shape.dim[:1] = [min(length, most) for length in shape.dim[:1]]


def stated_shapes(layer: pb.LayerParameter) -> list[Shape]:
    """Return the shapes of a data layer's tops, as far as its message states them."""
    return [tuple(shape.dim) for shape in layer.input_param.shape]


def state_shapes(layer: pb.LayerParameter, shapes: Iterable[Shape]) -> None:
    """Write the shapes of its tops into a data layer's message, whatever it stated before."""
    layer.input_param.ClearField("shape")
    for shape in shapes:
        layer.input_param.shape.add(dim=shape)
