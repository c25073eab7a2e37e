"""Items of any source written as a database or a table, as Caffe's convert_imageset does it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.prefetch import made
from netdsl.data.sources.columns import Cells
from netdsl.data.sources.datum import DatumRecord
from netdsl.data.sources.images import ImageFile
from netdsl.data.sources.source import Array, Source
from netdsl.data.transforms.decode import resize
from netdsl.data.writing.encode import ImageFormat, encode, without_color
from netdsl.data.writing.example import Example
from netdsl.data.writing.new_path import new_path
from netdsl.data.writing.target import target_of
from netdsl.errors import DataError

_CHANNELS = 4  # that an image has at most


@runtime_checkable
class Named(Protocol):
    """A source whose items have names."""

    def name(self, index: int) -> str:
        """What an item is called."""
        ...


@dataclass(frozen=True)
class Conversion:
    """What is done to items on their way: `size` is height and width, `seed` shuffles them."""

    size: tuple[int, int] | None = None
    encoded: ImageFormat | None = None
    gray: bool = False
    seed: int | None = None
    skip_bad: bool = False


@dataclass(frozen=True)
class ConversionReport:
    """How many items were written, and what was wrong with the others."""

    written: int
    bad: list[str]


def convert(
    source: Source, target: str, how: Conversion = Conversion(), *, done: Callable[[], object] = lambda: None
) -> ConversionReport:
    """Write all items, or nothing. `done` is called for each.

    A bad item is an error, unless bad ones are to be skipped: then its number stays free, as in Caffe.
    """
    where, bad = target_of(target), list[str]()
    written = 0
    with new_path(where.path) as path, where.writer(path) as put, closing(_examples(source, how)) as examples:
        for example in examples:
            done()
            if isinstance(example, Example):
                put(example)
                written += 1
            elif how.skip_bad:
                bad.append(str(example))
            else:
                raise example
        if not written:
            raise DataError(f"all {len(bad)} items are bad; the first: {bad[0]}")
    return ConversionReport(written, bad)


def _examples(source: Source, how: Conversion) -> Generator[Example | DataError]:
    order = np.arange(len(source)) if how.seed is None else np.random.default_rng(how.seed).permutation(len(source))

    def make(position: int, fetched: Any) -> Example:
        name = source.name(int(order[position])) if isinstance(source, Named) else ""
        return _example(source, fetched, how, position, name)

    return made(source, order.tolist(), make)


def _example(source: Source, fetched: Any, how: Conversion, position: int, name: str) -> Example:
    image, *others = source.item(fetched)
    image = _changed(image, how, name or f"item {position}")
    if how.encoded is None:
        return Example(position, name, (image, *others))
    stored = None if how.size or how.gray else _stored(fetched)
    if stored is None or not how.encoded.made(stored):  # Caffe's rule: what is right already isn't encoded again
        stored = encode(image, how.encoded, name or f"item {position}")
    return Example(position, name, (image, *others), stored)


def _changed(image: Array, how: Conversion, where: str) -> Array:
    if (how.size or how.gray) and (image.ndim != 3 or len(image) > _CHANNELS):
        raise DataError(f"{where}: has shape {image.shape}, which isn't that of an image to resize or to make gray")
    if how.gray:
        image = without_color(image)
    return resize(image, *how.size) if how.size else image


def _stored(fetched: Any) -> bytes | None:
    """The image file that an item was made of, if there was one."""
    match fetched:
        case ImageFile(data=data):
            return data
        case DatumRecord(value=value):
            datum = pb.Datum.FromString(value)
            return datum.data if datum.encoded else None
        case Cells(values=[bytes(data), *_]):
            return data
    return None
