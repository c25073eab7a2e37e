"""Converts the items of any source to a database, a table, tar files or folders, like Caffe's convert_imageset."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from typing import Any

from caffe_proto import caffe_pb2 as pb
from caffe_proto.whole_numbers import whole_number
from netdsl.data.sources.class_names import classes_of
from netdsl.data.sources.datum import DatumRecord
from netdsl.data.sources.images import ImageFile
from netdsl.data.sources.shards import ShardSample
from netdsl.data.sources.source import NamedItems, Source
from netdsl.data.sources.tables import Cells
from netdsl.data.transforms.decode import resize, without_color
from netdsl.data.types import Array
from netdsl.data.writing.databases import leveldb_writer, lmdb_writer
from netdsl.data.writing.example import Example, Put
from netdsl.data.writing.image_files import ImageFormat, encode, folder_writer
from netdsl.data.writing.map_items import good_results, map_items, writing_order
from netdsl.data.writing.parquet import parquet_writer
from netdsl.data.writing.shards import shard_writer
from netdsl.data.writing.target import TargetName, new_path, parse_target
from netdsl.errors import DataError

# The second argument is the names of classes. More arguments are the numbers in a target's options.
WriterFactory = Callable[..., AbstractContextManager[Put]]


@dataclass(frozen=True)
class _TargetKind:
    """A kind of target: the form of its names, its writer, and the options whose numbers the writer gets."""

    form: str
    writer: WriterFactory
    options: tuple[str, ...] = ()
    keeps_files: bool = False  # whether encoded images are always stored unchanged, as in the source


_KINDS = {
    "lmdb": _TargetKind("lmdb:PATH", lmdb_writer),
    "leveldb": _TargetKind("leveldb:PATH", leveldb_writer),
    "parquet": _TargetKind("parquet:PATH", parquet_writer),
    "folder": _TargetKind("folder:PATH", folder_writer),
    "shards": _TargetKind("shards:FOLDER?samples=N", shard_writer, ("samples",), keeps_files=True),
}
_CHANNELS = 4  # the most channels of an image


@dataclass(frozen=True)
class Conversion:
    """Settings of a conversion.

    Images are resized to `size`, a height and a width. Images with marked objects can keep their proportions instead:
    they are enlarged until the shorter side has `min_side` pixels, and then shrunk until the longer side has at most
    `max_side`. `seed` shuffles the items.
    """

    size: tuple[int, int] | None = None
    encoded: ImageFormat | None = None
    gray: bool = False
    seed: int | None = None
    skip_bad: bool = False
    min_side: int = 0
    max_side: int = 0


AS_THEY_ARE = Conversion()


@dataclass(frozen=True)
class ConversionReport:
    """The number of items that were written, and the errors of skipped items."""

    written: int
    bad: list[str]


def convert(
    source: Source, target: str, settings: Conversion = AS_THEY_ARE, *, done: Callable[[], object] = lambda: None
) -> ConversionReport:
    """Write all items to a new target such as `lmdb:PATH` or `train.parquet`. On an error, nothing is written.

    The names of the classes are written into a table's metadata, or into a database's folder as `labels.txt`. A bad
    item is an error unless `skip_bad` is set. As in Caffe, a skipped item uses no number. `done` is called for each
    item.
    """
    if settings.min_side or settings.max_side:
        raise DataError("--min-dim and --max-dim need images with marked objects; give --resize HxW instead")
    name = parse_target(target, {kind: form.form for kind, form in _KINDS.items()})
    kind = _KINDS[name.kind]
    options = _numbers_in(name, target)
    written, bad = 0, list[str]()
    with (
        new_path(name.path) as path,
        kind.writer(path, classes_of(source), **options) as put,
        closing(_examples(source, settings, keeps_files=kind.keeps_files)) as examples,
    ):
        for example in good_results(examples, bad if settings.skip_bad else None, done):
            put(example)
            written += 1
        if not written:
            raise DataError(
                f"all {len(bad)} items are bad; the first problem is: {bad[0]}; mend this item to see whether "
                "the others are like it"
            )
    return ConversionReport(written, bad)


def _numbers_in(name: TargetName, target: str) -> dict[str, int]:
    """Return the numbers in the options of a target."""
    kind, numbers = _KINDS[name.kind], dict[str, int]()
    for option, text in name.options.items():
        if option not in kind.options:
            raise DataError(f"{target}: there is no option '{option[:40]}'; write the target as {kind.form}")
        number = whole_number(text, 1)
        if number is None:
            raise DataError(f"{target}: {option} is '{text[:40]}'; set it to a whole number of 1 or more")
        numbers[option] = number
    return numbers


def _examples(source: Source, settings: Conversion, *, keeps_files: bool) -> Generator[Example | DataError]:
    order = writing_order(len(source), settings.seed)

    def example(position: int, fetched: Any) -> Example:
        name = source.name(int(order[position])) if isinstance(source, NamedItems) else ""
        return _example(source, fetched, settings, position, name, keeps_files=keeps_files)

    return map_items(source, order.tolist(), example)


def _example(
    source: Source, fetched: Any, settings: Conversion, position: int, name: str, *, keeps_files: bool
) -> Example:
    image, *others = source.item(fetched)
    image = _converted(image, settings, name or f"item {position}")
    is_changed = settings.size is not None or settings.gray
    encoded = _encoded(fetched) if not is_changed and (keeps_files or settings.encoded is not None) else None
    if settings.encoded is not None and (encoded is None or not settings.encoded.matches(encoded)):
        encoded = encode(image, settings.encoded, name or f"item {position}")  # as in Caffe, only if it must be
    return Example(position, name, (image, *others), encoded)


def _converted(image: Array, settings: Conversion, where: str) -> Array:
    if (settings.size or settings.gray) and (image.ndim != 3 or len(image) > _CHANNELS):
        raise DataError(
            f"{where}: an item of shape {image.shape} isn't an image to resize or convert to gray; leave out "
            "--resize and --gray"
        )
    if settings.gray:
        image = without_color(image)
    return resize(image, *settings.size) if settings.size else image


def _encoded(fetched: Any) -> bytes | None:
    """Return the encoded image of a fetched item, or `None` if it has none."""
    match fetched:
        case ImageFile(data=data):
            return data
        case DatumRecord(value=value):
            datum = pb.Datum.FromString(value)
            return datum.data if datum.encoded else None
        case ShardSample():
            return fetched.encoded_image
        case Cells(values=[bytes(data), *_]):
            return data
    return None
