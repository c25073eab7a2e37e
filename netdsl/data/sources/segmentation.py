"""Images with a label for every pixel: the lists of DeepLab's ImageSegData and SegNet's DenseImageData."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.order import Order
from netdsl.data.sources.listing import numbered_lines, read_bytes
from netdsl.data.sources.source import Array, Item
from netdsl.data.transforms.decode import Color, Interpolation, decode, resize
from netdsl.data.transforms.mean import Values
from netdsl.data.transforms.paired_transform import PairedTransform
from netdsl.data.transforms.transform import Transform
from netdsl.errors import DataError


class Pair(NamedTuple):
    """An image file and its labels as they were read, and where in the sequence that was."""

    path: str
    image: bytes
    labels: bytes | int
    place: int


@dataclass(frozen=True)
class Pairs:
    """What is read: lines of an image and its labels, which are another image, or one number for all pixels.

    Both get the new size if there is one. `label` is the number where the list has none.
    """

    source: str | Path
    root_folder: str = ""
    size: tuple[int, int] = (0, 0)
    color: bool = True
    kind: int = pb.ImageDataParameter.PIXEL
    label: int = 255


class SegmentationSource:
    """An endless sequence of images with labels; an item is ready for the net, and needs no Transform.

    Both must be cropped and mirrored alike, so this source shuffles and draws itself: item i follows from (seed, i)
    alone. With `sizes` an item has a third array: the image's height and width, as far as they are in the crop.
    """

    def __init__(
        self, pairs: Pairs, joint: PairedTransform, *, shuffle: bool = False, sizes: bool = False, seed: int = 0
    ) -> None:
        if bool(pairs.size[0]) != bool(pairs.size[1]):
            raise DataError("new_height and new_width go together: give both or neither")
        self._pairs, self._joint, self._sizes = pairs, joint, sizes
        self._lines = [_split(pairs, number, line) for number, line in numbered_lines(pairs.source)]
        if not self._lines:
            raise DataError(f"{pairs.source}: the list is empty")
        self._order = Order((len(self._lines),), shuffle, seed)

    def __len__(self) -> int:
        return sys.maxsize

    def fetch(self, index: int) -> Pair:
        """The bytes of an image and its labels."""
        name, labels = self._lines[self._order.index(index)]
        path = self._pairs.root_folder + name
        read = labels if isinstance(labels, int) else read_bytes(self._pairs.root_folder + labels)
        return Pair(path, read_bytes(path), read, index)

    def item(self, fetched: Pair) -> Item:
        """The image and its labels, scaled, cropped and mirrored alike."""
        image = self._resized(decode(fetched.image, Color.COLOR if self._pairs.color else Color.GRAY, fetched.path))
        if isinstance(fetched.labels, int):
            labels: Array = np.full((1, *image.shape[1:]), fetched.labels, np.uint8)
        else:
            read = decode(fetched.labels, Color.GRAY, f"the labels of {fetched.path}")
            labels = self._resized(read, Interpolation.NEAREST)
        pixels, classes = self._joint(image, labels, self._order.random(fetched.place), fetched.path)
        seen = np.minimum(image.shape[1:], pixels.shape[1:]).astype(np.float32)[None, None]
        return (pixels, classes, seen) if self._sizes else (pixels, classes)

    def _resized(self, image: Array, interpolation: Interpolation = Interpolation.LINEAR) -> Array:
        return resize(image, *self._pairs.size, interpolation) if any(self._pairs.size) else image

    def close(self) -> None:
        """No file stays open."""


def _split(pairs: Pairs, number: int, line: str) -> tuple[str, str | int]:
    name, *rest = line.split()
    if pairs.kind == pb.ImageDataParameter.NONE:
        return name, pairs.label
    if not rest:
        raise DataError(f"{pairs.source}:{number}: '{name[:40]}' has no labels; a line is 'image labels'")
    if pairs.kind == pb.ImageDataParameter.PIXEL:
        return name, rest[0]
    if not rest[0].isdecimal() or int(rest[0]) > 255:
        raise DataError(f"{pairs.source}:{number}: '{rest[0][:40]}' is not a label from 0 to 255")
    return name, int(rest[0])


def image_seg_source(
    p: pb.ImageDataParameter, transform: pb.TransformationParameter, *, train: bool, sizes: bool = True, seed: int = 0
) -> SegmentationSource:
    """DeepLab's: three tops, or two without sizes. Resized labels keep their values, which DeepLab's code would mix."""
    if transform.mean_file:
        raise DataError("ImageSegData has no mean_file: give mean_value")
    joint = PairedTransform(
        _values(transform), _crop(transform), train, transform.mirror, p.ignore_label, (*transform.scale_factors,)
    )
    size = (p.new_height, p.new_width)
    pairs = Pairs(p.source, p.root_folder, size, p.is_color, p.label_type, p.ignore_label)
    return SegmentationSource(pairs, joint, shuffle=p.shuffle, sizes=sizes, seed=seed)


def dense_image_source(
    p: pb.DenseImageDataParameter, transform: pb.TransformationParameter, *, seed: int = 0
) -> SegmentationSource:
    """SegNet's: two tops. It crops at random in any phase, and its own settings say how, not transform_param."""
    if transform.mirror or transform.crop_size:
        raise DataError("DenseImageData mirrors and crops as dense_image_data_param says, not transform_param")
    if bool(p.crop_height) != bool(p.crop_width):
        raise DataError("crop_height and crop_width go together: give both or neither")
    crop = (p.crop_height, p.crop_width) if p.crop_height else None
    pairs = Pairs(p.source, p.root_folder, (p.new_height, p.new_width), p.is_color)
    return SegmentationSource(
        pairs, PairedTransform(_values(transform), crop, True, p.mirror), shuffle=p.shuffle, seed=seed
    )


def _crop(transform: pb.TransformationParameter) -> tuple[int, int] | None:
    square = (transform.crop_size, transform.crop_size)
    given = [square, (transform.crop_height, transform.crop_width), (transform.crop_h, transform.crop_w)]
    found = [size for size in given if any(size)]
    if len(found) > 1 or not all(all(size) for size in found):
        raise DataError("transform_param needs either crop_size, or both crop_height and crop_width")
    return found[0] if found else None


def _values(transform: pb.TransformationParameter) -> Callable[[Array], Values]:
    """The part of a transform that doesn't move pixels: less the mean, and scaled."""
    rest = pb.TransformationParameter()
    rest.CopyFrom(transform)
    for name in ("mirror", "crop_size", "crop_h", "crop_w", "crop_height", "crop_width", "scale_factors"):
        rest.ClearField(name)
    still, nothing_drawn = Transform(rest, train=False), np.random.default_rng(0)
    return lambda image: still(image, nothing_drawn)
