"""Images with a label for every pixel, from the lists of DeepLab's, SegNet's and HED's layers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.listing import numbered_lines, read_bytes
from netdsl.data.sources.order import Order
from netdsl.data.sources.source import Item
from netdsl.data.transforms.decode import Color, Interpolation, decode, resize
from netdsl.data.transforms.mean import Pixels
from netdsl.data.transforms.paired_transform import PairedTransform
from netdsl.data.transforms.transform import Transform
from netdsl.data.types import Array
from netdsl.errors import DataError

_HALF = 128  # of white, as OpenCV rounds it


class SegmentationItem(NamedTuple):
    """An encoded image, its encoded labels or its only label, and its place in the sequence."""

    path: str
    image: bytes
    labels: bytes | int
    place: int


@dataclass(frozen=True)
class SegmentationList:
    """A list whose lines name an image and its labels, which are another image, or one number for all pixels.

    Image and labels are resized to `size` unless it is (0, 0). `kind` says what the labels of a line are; `label` is
    the label of all pixels where lines have none. A map of `edges` is gray: labels are 1 for what is at least half as
    bright as white, and 0 for the rest.
    """

    path: str | Path
    root_folder: str = ""
    size: tuple[int, int] = (0, 0)
    color: bool = True
    kind: int = pb.ImageDataParameter.PIXEL
    label: int = 255
    edges: bool = False


class SegmentationSource:
    """An endless sequence of images with labels; an item is ready for the net, and needs no Transform.

    An image and its labels must be cropped and mirrored alike, so this source shuffles and draws random numbers itself:
    item i follows from (seed, i) alone. With `sizes` an item has a third array: the height and width of the part of the
    crop that the image covers.
    """

    def __init__(
        self,
        files: SegmentationList,
        transform: PairedTransform,
        *,
        shuffle: bool = False,
        sizes: bool = False,
        seed: int = 0,
    ) -> None:
        if bool(files.size[0]) != bool(files.size[1]):
            raise DataError("new_height and new_width go together: give both or neither")
        self._files, self._transform, self._sizes = files, transform, sizes
        self._lines = [_split(files, number, line) for number, line in numbered_lines(files.path)]
        if not self._lines:
            raise DataError(f"{files.path}: the list is empty")
        self._order = Order((len(self._lines),), shuffle, seed)

    def __len__(self) -> int:
        return sys.maxsize

    def fetch(self, index: int) -> SegmentationItem:
        """The bytes of an image and its labels."""
        name, label = self._lines[self._order.index(index)]
        path = self._files.root_folder + name
        labels = label if isinstance(label, int) else read_bytes(self._files.root_folder + label)
        return SegmentationItem(path, read_bytes(path), labels, index)

    def item(self, fetched: SegmentationItem) -> Item:
        """The image and its labels, scaled, cropped and mirrored alike."""
        image = self._resized(decode(fetched.image, Color.COLOR if self._files.color else Color.GRAY, fetched.path))
        if isinstance(fetched.labels, int):
            labels: Array = np.full((1, *image.shape[1:]), fetched.labels, np.uint8)
        else:
            encoded = decode(fetched.labels, Color.GRAY, f"the labels of {fetched.path}")
            labels = self._edges(encoded) if self._files.edges else self._resized(encoded, Interpolation.NEAREST)
        pixels, classes = self._transform(image, labels, self._order.random(fetched.place), fetched.path)
        size = np.minimum(image.shape[1:], pixels.shape[1:]).astype(np.float32)[None, None]
        return (pixels, classes, size) if self._sizes else (pixels, classes)

    def _edges(self, gray: Array) -> Array:
        bright: NDArray[np.bool_] = self._resized(gray).astype(np.uint8) >= _HALF
        return np.asarray(bright, np.uint8)

    def _resized(self, image: Array, interpolation: Interpolation = Interpolation.LINEAR) -> Array:
        return resize(image, *self._files.size, interpolation) if any(self._files.size) else image

    def close(self) -> None:
        """Do nothing, since no file stays open."""


def _split(files: SegmentationList, number: int, line: str) -> tuple[str, str | int]:
    name, *rest = line.split()
    if files.kind == pb.ImageDataParameter.NONE:
        return name, files.label
    if not rest:
        raise DataError(f"{files.path}:{number}: '{name[:40]}' has no labels; a line is 'image labels'")
    if files.kind == pb.ImageDataParameter.PIXEL:
        return name, rest[0]
    if not rest[0].isdecimal() or int(rest[0]) > 255:
        raise DataError(f"{files.path}:{number}: '{rest[0][:40]}' is not a label from 0 to 255")
    return name, int(rest[0])


def image_seg_source(
    p: pb.ImageDataParameter, transform: pb.TransformationParameter, *, train: bool, sizes: bool = True, seed: int = 0
) -> SegmentationSource:
    """The source of DeepLab's ImageSegData, whose items have three arrays, or two without `sizes`.

    Resizing keeps the values of labels, which DeepLab's own code would interpolate.
    """
    if transform.mean_file:
        raise DataError("ImageSegData has no mean_file: give mean_value")
    paired_transform = PairedTransform(
        _values(transform), _crop(transform), train, transform.mirror, p.ignore_label, (*transform.scale_factors,)
    )
    size = (p.new_height, p.new_width)
    files = SegmentationList(p.source, p.root_folder, size, p.is_color, p.label_type, p.ignore_label)
    return SegmentationSource(files, paired_transform, shuffle=p.shuffle, sizes=sizes, seed=seed)


def dense_image_source(
    p: pb.DenseImageDataParameter, transform: pb.TransformationParameter, *, seed: int = 0
) -> SegmentationSource:
    """The source of SegNet's DenseImageData, which crops at random in any phase, as its own settings say."""
    if transform.mirror or transform.crop_size:
        raise DataError("DenseImageData mirrors and crops as dense_image_data_param says, not transform_param")
    if bool(p.crop_height) != bool(p.crop_width):
        raise DataError("crop_height and crop_width go together: give both or neither")
    crop = (p.crop_height, p.crop_width) if p.crop_height else None
    files = SegmentationList(p.source, p.root_folder, (p.new_height, p.new_width), p.is_color)
    paired_transform = PairedTransform(_values(transform), crop, True, p.mirror)
    return SegmentationSource(files, paired_transform, shuffle=p.shuffle, seed=seed)


def image_labelmap_source(
    p: pb.ImageDataParameter, transform: pb.TransformationParameter, *, seed: int = 0
) -> SegmentationSource:
    """The source of HED's ImageLabelmapData, which crops at random in any phase."""
    files = SegmentationList(p.source, p.root_folder, (p.new_height, p.new_width), p.is_color, edges=True)
    paired_transform = PairedTransform(_values(transform), _crop(transform), True, transform.mirror)
    return SegmentationSource(files, paired_transform, shuffle=p.shuffle, seed=seed)


def _crop(transform: pb.TransformationParameter) -> tuple[int, int] | None:
    square = (transform.crop_size, transform.crop_size)
    settings = [square, (transform.crop_height, transform.crop_width), (transform.crop_h, transform.crop_w)]
    sizes = [size for size in settings if any(size)]
    if len(sizes) > 1 or not all(all(size) for size in sizes):
        raise DataError("transform_param needs either crop_size, or both crop_height and crop_width")
    return sizes[0] if sizes else None


def _values(transform: pb.TransformationParameter) -> Callable[[Array], Pixels]:
    """The part of a transform that doesn't move pixels: it subtracts the mean and scales."""
    settings = pb.TransformationParameter()
    settings.CopyFrom(transform)
    for name in ("mirror", "crop_size", "crop_h", "crop_w", "crop_height", "crop_width", "scale_factors"):
        settings.ClearField(name)
    constant_transform, unused = Transform(settings, train=False), np.random.default_rng(0)
    if not constant_transform.constant:
        raise DataError("transform_param resizes images, and not their labels; take new_height and new_width")
    return lambda image: constant_transform(image, unused)
