"""Encodes images into files, and writes folders of files for each class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path

import numpy as np

from netdsl.data.sources.class_names import LABELS, write_class_names
from netdsl.data.transforms.decode import opencv
from netdsl.data.transforms.image_formats import image_extension
from netdsl.data.types import Array
from netdsl.data.writing.example import Example, Put, image_and_class
from netdsl.errors import DataError


class ImageFormat(Enum):
    """The format of an encoded image. The values are suffixes of files."""

    JPG = "jpg"
    PNG = "png"

    def matches(self, data: bytes) -> bool:
        """Return whether an encoded image has this format."""
        return image_extension(data) == self.value


_CHANNELS = (1, 3, 4)


def encode(image: Array, image_format: ImageFormat, where: str) -> bytes:
    """Return an image as an encoded file. Axes are channels, height, width, and colors are blue, green, red."""
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[0] not in _CHANNELS:
        raise DataError(
            f"{where}: {image.dtype} values of shape {image.shape} can't be a {image_format.value} image; write "
            "a table instead, as in parquet:PATH"
        )
    cv2 = opencv()
    try:
        _, data = cv2.imencode(f".{image_format.value}", np.ascontiguousarray(image.transpose(1, 2, 0)))
    except cv2.error as problem:
        raise DataError(
            f"{where}: values of shape {image.shape} can't be a {image_format.value} image ({problem.err}); "
            "write a table instead, as in parquet:PATH"
        ) from None
    return bytes(data)


@contextmanager
def folder_writer(path: Path, classes: Sequence[str] = ()) -> Iterator[Put]:
    """Yield a function that adds images to a new folder, which also gets the names of the classes in their order."""
    path.mkdir()
    if classes:
        write_class_names(classes, path / LABELS)

    def put(example: Example) -> None:
        where = example.key.decode("utf-8", "replace")
        image, label = image_and_class(example, where, "a folder")
        folder = path / _folder_name(classes[label] if 0 <= label < len(classes) else str(label))
        folder.mkdir(exist_ok=True)
        kinds = [kind for kind in ImageFormat if example.encoded is not None and kind.matches(example.encoded)]
        kind = kinds[0] if kinds else ImageFormat.PNG
        data = example.encoded if kinds and example.encoded is not None else encode(image, kind, where)
        (folder / f"{example.position:06}.{kind.value}").write_bytes(data)

    yield put


def _folder_name(name: str) -> str:
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise DataError(f"the class '{name}' can't be the name of a folder; write a database instead, as in lmdb:PATH")
    return name
