"""Made-up files for the layers that read images: pictures, maps of labels, lists and means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.image_settings import resize_of
from netdsl.data.types import Array, Shape
from netdsl.data.writing.encode import ImageFormat, encode
from netdsl.data.writing.mean_image import write_mean

_GRAY = 128  # the mean of made-up images
_CONTRAST = 40  # how far a one is from it


def as_pixels(values: Array) -> Array:
    """Numbers around zero as bytes."""
    return np.clip(np.rint(_GRAY + _CONTRAST * values.astype(np.float32)), 0, 255).astype(np.uint8)


def as_labels(values: Array) -> NDArray[np.uint8]:
    """Labels as bytes."""
    return np.clip(values.astype(np.float32), 0, 255).astype(np.uint8)


def write_images(images: Iterable[Array], folder: Path, name: str = "image") -> list[str]:
    """Write bytes of channels, height, width as files into a folder; returns their names."""
    names = []
    for index, image in enumerate(images):
        names.append(f"{name}{index}.png")
        (folder / names[-1]).write_bytes(encode(image, ImageFormat.PNG, names[-1]))
    return names


def write_list(folder: Path, *columns: Sequence[object]) -> str:
    """Write a list into a folder, which has an item in each line; returns its path."""
    path = folder / "list.txt"
    path.write_text("".join(" ".join(map(str, line)) + "\n" for line in zip(*columns, strict=True)))
    return str(path)


def write_mean_file(layer: pb.LayerParameter, image: Shape, folder: Path) -> None:
    """Write the mean that a layer subtracts from images of this shape, and name it, if it has one."""
    p = layer.transform_param
    if p.mean_file:
        p.mean_file = str(folder / "mean.binaryproto")
        write_mean(np.full((image[0], *(resize_of(p) or image[1:])), _GRAY, np.float32), p.mean_file)
