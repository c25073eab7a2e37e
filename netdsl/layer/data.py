"""`BringsData`: layers whose tops come from outside the net, and the sources of these tops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import Enum, auto
from pathlib import Path
from typing import ClassVar

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.addresses import address_in
from caffe_proto.copies import copy_of
from netdsl.data.batches.reading import Intake, Reading
from netdsl.data.sources.open_source import find_source, has_kind_prefix
from netdsl.data.transforms.transform import Transform
from netdsl.data.types import Array
from netdsl.errors import NetError
from netdsl.layer.blobs import Shape
from netdsl.layer.core import Layer
from netdsl.layer.samples import BlobKind
from netdsl.storage.local_copies import is_copy, path_in_file

INPUT_TYPE = "Input"  # the type whose tops are the inputs of a net
UNKNOWN = -1  # a length that the settings don't determine; divided by a stride, it stays unknown
_BATCH_FIELDS = "batch_size", "batchsize"  # fields that contain a batch size
_SMALL_FILE_FIELDS = "mean_file", "label_map_file"
_FILE_FIELDS = "source", *_SMALL_FILE_FIELDS  # fields that name a file or a folder


class DataOrigin(Enum):
    """The origin of a data layer's tops."""

    INPUT = auto()  # inputs of the net, which the caller passes by name
    ARRAYS = auto()  # the program passes all items at once
    FILES = auto()  # the layer reads them


class BringsData(Layer):
    """A layer without bottoms whose tops come from outside the net. Its `forward` is never called."""

    bottoms = (0, 0)
    data_origin: ClassVar[DataOrigin]
    any_size: ClassVar[bool] = False  # whether images keep their sizes, so that the shape is only a typical one

    def top_kind(self, place: int) -> BlobKind:
        """Return the kind of a top's values, as far as it doesn't depend on the layers that read the top."""
        return BlobKind.NUMBER

    def known_shapes(self) -> list[Shape | None]:
        """Return the shapes of the tops according to the settings.

        Missing lengths are UNKNOWN. A shape is `None` if nothing about it is known.
        """
        shapes = self.top_shapes([])
        if any(min(shape, default=0) < 0 for shape in shapes):
            raise NetError(
                "a shape contains a negative length; write 1 or more, or leave the shape out if it isn't known"
            )
        return [shape or None for shape in shapes]

    def stated_batch(self) -> int | None:
        """Return the batch size of tops without a known shape, or `None` if the settings don't contain it."""
        return None

    def typical_size(self) -> tuple[int, int] | None:
        """Return the usual height and width of images in the layer's data set, or `None` if it isn't for a certain
        one."""
        return None

    def reading(self, seed: int) -> Reading:
        """Open the files from which the tops are read."""
        kind = self.layer.type
        raise NetError(f"data of type {kind} can't be read; pass its tops by name, or use another data layer")

    def note_data(self, layer: pb.LayerParameter) -> None:
        """Write facts that only the data contain, once they are open, into the layer's message in a net.

        The shapes of the tops are written for all types.
        """

    def intake(self) -> Intake:
        """Return the columns and shapes that the layer reads from each row of a table."""
        shapes = self.top_shapes([])
        sizes = {shape[0] if shape else 0 for shape in shapes}
        if len(sizes) > 1 or 0 in sizes:
            raise NetError("the shapes don't determine the batch size; start all of them with the same length")
        gray = self.layer.transform_param.force_gray or any(len(shape) == 4 and shape[1] == 1 for shape in shapes)
        return Intake(tuple(self.layer.top), sizes.pop(), tuple(shape[1:] for shape in shapes), self.transform(), gray)

    def transform(self) -> Transform | None:
        """Return the transformation of the layer's images, or `None`. It is random only in the TRAIN phase."""
        p = self.layer
        return Transform(p.transform_param, train=p.phase == pb.TRAIN) if p.HasField("transform_param") else None


def with_stored_files(message: pb.LayerParameter) -> pb.LayerParameter:
    """Return the message of a data layer whose files are on this machine.

    If its net was copied from a storage, the files that it names may be stored next to the net. Files of these names in
    the working folder take precedence, as in Caffe. A name may begin with a kind of data.
    """
    place = message.location
    net = Path(place.rpartition(":")[0] if place.rpartition(":")[2].isdecimal() else place)
    made = copy_of(message)
    for part, name, file in _named_files(made, _FILE_FIELDS):
        stored = _stored_name(file, net)
        if stored is not None:
            setattr(part, name, stored)
    return made


def _stored_name(file: str, net: Path) -> str | None:
    """Return the name of a file's copy on this machine, or `None` if a net names a file that isn't in a storage."""
    if not has_kind_prefix(file):
        path = None if Path(file).exists() else path_in_file(file, net.parent)
        return None if path is None else str(path)
    if address_in(file) is None and not is_copy(net):
        return None
    source = find_source(file)
    if source is None or not source.path or "*" in source.path or Path(source.path).exists():
        return None
    path = path_in_file(source.path, net.parent)
    return None if path is None else str(replace(source, path=str(path)))


def small_files_of(message: pb.LayerParameter) -> list[str]:
    """Return the names of the files besides its data that a layer reads, such as a mean."""
    return [file for _, _, file in _named_files(message, _SMALL_FILE_FIELDS)]


def _named_files(message: pb.LayerParameter, fields: Sequence[str]) -> Iterator[tuple[Message, str, str]]:
    """Yield the settings that name files in some of these fields, the fields, and the files."""
    for part in (value for _, value in message.ListFields() if isinstance(value, Message)):
        for name in (name for name in fields if part.DESCRIPTOR.fields_by_name.get(name) is not None):
            file = getattr(part, name)
            if isinstance(file, str) and file:
                yield part, name, file


class NamesSource(BringsData):
    """A data layer whose own settings name its source, although it has no `data_param`."""

    @classmethod
    def name_source(cls, layer: pb.LayerParameter, source: str) -> None:
        """Change the source in a layer's message."""
        raise NotImplementedError


class HasDatabaseForm(BringsData):
    """A data layer with images and labels that can be stored in a database, which Caffe can read with another layer."""

    def unknown_source(self) -> str | None:
        """Return the source if Caffe doesn't support it, or `None`."""
        return None

    def from_database(self, path: str, settings: pb.TransformationParameter) -> pb.LayerParameter:
        """Return a layer that reads batches of the same size from an LMDB and transforms images with these settings."""
        raise NotImplementedError


class HasSampleFiles(BringsData):
    """A layer that reads files and can also make up such files, to try a net without its data set."""

    def stored(self, values: Array, kind: BlobKind) -> Array:
        """Return made-up values of a top in the form of the files, given the kind that the readers of the top need."""
        return values

    def write_samples(self, folder: Path, values: Sequence[Array]) -> pb.LayerParameter:
        """Write made-up values of a batch to an empty folder, in the files' form.

        Returns the layer that reads these files, with otherwise equal settings.
        """
        raise NotImplementedError


class MakesData(Layer):
    """A layer without bottoms that computes its tops itself. It runs for the first time during the setup of the net."""

    bottoms = (0, 0)
    deploys_as = INPUT_TYPE


def state_batch(layer: pb.LayerParameter, batch: int) -> bool:
    """Write the batch size into a data layer's message. Returns whether the message has a place for it."""
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
    """Limit the batch size in a data layer's message."""
    for _, settings in layer.ListFields():
        for setting, value in settings.ListFields() if isinstance(settings, Message) else ():
            if setting.name in _BATCH_FIELDS and value > most:
                setattr(settings, setting.name, most)
            for shape in value if setting.message_type is pb.BlobShape.DESCRIPTOR else ():
                shape.dim[:1] = [min(length, most) for length in shape.dim[:1]]


def stated_shapes(layer: pb.LayerParameter) -> list[Shape]:
    """Return the shapes of a data layer's tops that its message states."""
    return [tuple(shape.dim) for shape in layer.input_param.shape]


def state_shapes(layer: pb.LayerParameter, shapes: Iterable[Shape]) -> None:
    """Write the shapes of the tops into a data layer's message, in place of earlier ones."""
    layer.input_param.ClearField("shape")
    for shape in shapes:
        layer.input_param.shape.add(dim=shape)
