"""An item to write, and its record in Caffe's databases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.source import Item
from netdsl.data.types import Array
from netdsl.errors import DataError

_LONGEST_KEY = 511  # LMDB's limit


@dataclass(frozen=True)
class Example:
    """An item to write. `encoded` is an encoded image that replaces the first array."""

    position: int
    name: str
    item: Item
    encoded: bytes | None = None

    @property
    def key(self) -> bytes:
        """The key that Caffe's convert_imageset would write: the position with eight digits, and the name if there is
        one."""
        text = f"{self.position:08}_{self.name}" if self.name else f"{self.position:08}"
        return text.encode("utf-8", "surrogateescape")[:_LONGEST_KEY]


Put = Callable[[Example], None]  # adds an item to a file that is being written


def datum_of(example: Example) -> pb.Datum:
    """Return the record of an item, with the fields that Caffe's convert_imageset sets."""
    if len(example.item) != 2:
        raise DataError(
            f"a Datum has an image and a label, but an item has {len(example.item)} arrays; write a table "
            "instead, as in parquet:PATH"
        )
    (image, values), where = example.item, example.key.decode("utf-8", "replace")
    label = label_of(values, where)
    if example.encoded is not None:
        return pb.Datum(data=example.encoded, label=label, encoded=True)
    channels, height, width = _shape(image, where)
    datum = pb.Datum(channels=channels, height=height, width=width, label=label, encoded=False)
    if image.dtype == np.uint8:
        datum.data = image.tobytes()
    else:
        datum.float_data.extend(image.ravel().tolist())
    return datum


def image_and_class(example: Example, where: str, stored_in: str) -> tuple[Array, int]:
    """Return the image and the number of the class of an item for a form of data that stores nothing else."""
    if len(example.item) != 2:
        raise DataError(
            f"{where}: {stored_in} stores images and their classes, but an item has {len(example.item)} arrays; write "
            "a table instead, as in parquet:PATH"
        )
    image, values = example.item
    return image, label_of(values, where)


def label_of(values: Array, where: str) -> int:
    """Return the label of an item as a whole number."""
    number = float(values.item()) if values.size == 1 else 0.5
    if not number.is_integer() or abs(number) >= 2**31:
        raise DataError(
            f"{where}: the label must be one whole number, not {values.tolist()}; write a table instead, as in "
            "parquet:PATH"
        )
    return int(number)


def _shape(image: Array, where: str) -> tuple[int, int, int]:
    """Return the channels, height and width of an image. Each value of a vector is a channel."""
    if image.ndim > 3:
        raise DataError(
            f"{where}: a Datum has channels, height and width, but the item has shape {image.shape}; write a "
            "table instead, as in parquet:PATH"
        )
    if image.ndim == 2:
        return 1, image.shape[0], image.shape[1]
    channels, height, width = (*image.shape, 1, 1, 1)[:3]
    return channels, height, width
