"""Images with a label for every pixel, from the lists of the layers of DeepLab, SegNet, HED and DeconvNet."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from caffe_proto.whole_numbers import INT32, whole_number
from netdsl.data.sources.files import listed_lines, read_bytes
from netdsl.data.sources.order import Order
from netdsl.data.sources.source import Item
from netdsl.data.transforms.crops import Region, refuse_for
from netdsl.data.transforms.decode import Color, Interpolation, decode, image_limit, resize
from netdsl.data.transforms.mean import Pixels
from netdsl.data.transforms.transform import PairedTransform, Transform
from netdsl.data.types import Array
from netdsl.errors import DataError

_HALF = 128  # half of white, as OpenCV rounds it
_CORNERS = 4  # the numbers that define a window


class SegmentationItem(NamedTuple):
    """An encoded image, its encoded labels or its single label, and its place in the sequence."""

    path: str
    image: bytes
    labels: bytes | int
    window: Region | None
    place: int


class SegmentationLine(NamedTuple):
    """A line of a list: the name of an image, its labels, and its window if it has one."""

    name: str
    labels: str | int
    window: Region | None


@dataclass(frozen=True)
class SegmentationList:
    """A list whose lines name an image and its labels. The labels are another image, or one number for all pixels.

    Image and labels are resized to `size` unless it is (0, 0). `kind` is the kind of the labels. `label` is the label
    of all pixels if lines have no labels. With `edges`, labels are a gray map, in which pixels of at least half the
    brightness of white become 1 and all others 0. With `windows`, a line ends with the corners of a window. Outside the
    image, a window's pixels are black and have the label `label`.
    """

    path: str | Path
    root_folder: str = ""
    size: tuple[int, int] = (0, 0)
    color: bool = True
    kind: int = pb.ImageDataParameter.PIXEL
    label: int = 255
    edges: bool = False
    windows: bool = False


class SegmentationSource:
    """An endless sequence of images with labels. An item is ready for the net and needs no Transform.

    This source shuffles and draws random numbers itself, because an image and its labels must be cropped and mirrored
    alike. Item i depends only on (seed, i). With `sizes`, an item has a third array: the height and width of the part
    of the crop that the image covers.
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
            raise DataError("only one of new_height and new_width is given; give both or neither")
        self._files, self._transform, self._sizes = files, transform, sizes
        self._lines = [_split_line(files, number, line) for number, line in listed_lines(files.path)]
        self._order = Order((len(self._lines),), shuffle, seed)

    def __len__(self) -> int:
        return sys.maxsize

    @property
    def image_count(self) -> int:
        """The number of images."""
        return len(self._lines)

    def fetch(self, index: int) -> SegmentationItem:
        """Return the bytes of an image and its labels."""
        name, label, window = self._lines[self._order.index(index)]
        path = self._files.root_folder + name
        labels = label if isinstance(label, int) else read_bytes(self._files.root_folder + label)
        return SegmentationItem(path, read_bytes(path), labels, window, index)

    def item(self, fetched: SegmentationItem) -> Item:
        """Return the image and its labels, resized, cropped and mirrored alike."""
        image, labels = self._decoded(fetched)
        if fetched.window is not None:
            image, labels = _part(image, fetched.window, 0), _part(labels, fetched.window, self._files.label)
        image = self._resized(image)
        labels = self._edges(labels) if self._files.edges else self._resized(labels, Interpolation.NEAREST)
        pixels, classes = self._transform(image, labels, self._order.random(fetched.place), fetched.path)
        size = np.minimum(image.shape[1:], pixels.shape[1:]).astype(np.float32)[None, None]
        return (pixels, classes, size) if self._sizes else (pixels, classes)

    def _decoded(self, fetched: SegmentationItem) -> tuple[Array, Array]:
        image = decode(fetched.image, Color.COLOR if self._files.color else Color.GRAY, fetched.path)
        if isinstance(fetched.labels, int):
            return image, np.full((1, *image.shape[1:]), fetched.labels, np.uint8)
        labels = decode(fetched.labels, Color.GRAY, f"the labels of {fetched.path}")
        if labels.shape[1:] != image.shape[1:] and fetched.window is not None:
            raise DataError(
                f"{fetched.path}: the image is {image.shape[1:]}, but its labels are {labels.shape[1:]}; set "
                "new_height and new_width, or resize the map to the image's size"
            )
        return image, labels

    def _edges(self, gray: Array) -> Array:
        bright: NDArray[np.bool_] = self._resized(gray).astype(np.uint8) >= _HALF
        return np.asarray(bright, np.uint8)

    def _resized(self, image: Array, interpolation: Interpolation = Interpolation.LINEAR) -> Array:
        return resize(image, *self._files.size, interpolation) if any(self._files.size) else image

    def close(self) -> None:
        """Do nothing, because no file stays open."""


def _split_line(files: SegmentationList, number: int, line: str) -> SegmentationLine:
    name, *rest = line.split()
    count = _CORNERS if files.windows else 0
    labels = rest[: len(rest) - count] if count else rest
    window = _window(files, number, rest[len(labels) :]) if count else None
    return SegmentationLine(name, _labels(files, number, name, labels), window)


def _labels(files: SegmentationList, number: int, name: str, words: list[str]) -> str | int:
    if files.kind == pb.ImageDataParameter.NONE:
        return files.label
    if not words:
        raise DataError(f"{files.path}:{number}: '{name[:40]}' has no labels; write the line as 'image labels'")
    if files.kind == pb.ImageDataParameter.PIXEL:
        return words[0]
    label = whole_number(words[0], 0, 255)
    if label is None:
        raise DataError(f"{files.path}:{number}: '{words[0][:40]}' isn't a label; use a number from 0 to 255")
    return label


def _window(files: SegmentationList, number: int, words: list[str]) -> Region:
    """Return the window of a line, which can extend beyond the image."""
    corners = [corner for word in words if (corner := whole_number(word, *INT32)) is not None]
    if len(corners) != _CORNERS:
        raise DataError(
            f"{files.path}:{number}: the line doesn't end with the corners x1 y1 x2 y2 of a window; write them "
            "in pixels"
        )
    window = Region(*corners)
    height, width = window.y2 - window.y1 + 1, window.x2 - window.x1 + 1
    if height < 1 or width < 1 or height * width > image_limit().pixels:
        raise DataError(
            f"{files.path}:{number}: the window {tuple(window)} has no pixels, or too many; write x1 y1 x2 y2 in "
            "pixels, with x1 <= x2 and y1 <= y2"
        )
    return window


def _part(image: Array, window: Region, around: int) -> Array:
    """Return the part of an image in a window. `around` fills the pixels outside the image."""
    shown = np.full((len(image), window.y2 - window.y1 + 1, window.x2 - window.x1 + 1), around, image.dtype)
    top, left = max(0, window.y1), max(0, window.x1)
    part = image[:, top : max(0, window.y2 + 1), left : max(0, window.x2 + 1)]
    top, left = top - window.y1, left - window.x1
    shown[:, top : top + part.shape[1], left : left + part.shape[2]] = part
    return shown


def image_seg_source(
    p: pb.ImageDataParameter,
    transform: pb.TransformationParameter,
    *,
    train: bool,
    sizes: bool = True,
    windows: bool = False,
    seed: int = 0,
) -> SegmentationSource:
    """Return the source of DeepLab's ImageSegData or, with `windows`, of DeconvNet's WindowSegData.

    Items have three arrays, or two without `sizes`. Resizing keeps the values of labels, which DeepLab's own code would
    interpolate.
    """
    if transform.mean_file:
        raise DataError("images with maps can't have a mean_file; set mean_value for each channel instead")
    paired_transform = PairedTransform(
        _values_of(transform),
        _crop(transform),
        train,
        transform.mirror,
        p.ignore_label,
        (*transform.scale_factors,),
    )
    size = (p.new_height, p.new_width)
    files = SegmentationList(p.source, p.root_folder, size, p.is_color, p.label_type, p.ignore_label, windows=windows)
    return SegmentationSource(files, paired_transform, shuffle=p.shuffle, sizes=sizes, seed=seed)


def dense_image_source(
    p: pb.DenseImageDataParameter, transform: pb.TransformationParameter, *, seed: int = 0
) -> SegmentationSource:
    """Return the source of SegNet's DenseImageData. According to its own settings, it crops at random in every
    phase."""
    if transform.mirror or transform.crop_size:
        raise DataError(
            "DenseImageData doesn't mirror or crop by transform_param; set mirror and the crop in "
            "dense_image_data_param"
        )
    if bool(p.crop_height) != bool(p.crop_width):
        raise DataError("only one of crop_height and crop_width is given; give both or neither")
    crop = (p.crop_height, p.crop_width) if p.crop_height else None
    files = SegmentationList(p.source, p.root_folder, (p.new_height, p.new_width), p.is_color)
    paired_transform = PairedTransform(_values_of(transform), crop, True, p.mirror)
    return SegmentationSource(files, paired_transform, shuffle=p.shuffle, seed=seed)


def image_labelmap_source(
    p: pb.ImageDataParameter, transform: pb.TransformationParameter, *, seed: int = 0
) -> SegmentationSource:
    """Return the source of HED's ImageLabelmapData, which crops at random in every phase."""
    files = SegmentationList(p.source, p.root_folder, (p.new_height, p.new_width), p.is_color, edges=True)
    paired_transform = PairedTransform(_values_of(transform), _crop(transform), True, transform.mirror)
    return SegmentationSource(files, paired_transform, shuffle=p.shuffle, seed=seed)


def _crop(transform: pb.TransformationParameter) -> tuple[int, int] | None:
    square = (transform.crop_size, transform.crop_size)
    settings = [square, (transform.crop_height, transform.crop_width), (transform.crop_h, transform.crop_w)]
    sizes = [size for size in settings if any(size)]
    if len(sizes) > 1 or not all(all(size) for size in sizes):
        raise DataError(
            "transform_param has conflicting crops; give either crop_size, or both crop_height and crop_width"
        )
    return sizes[0] if sizes else None


def _values_of(transform: pb.TransformationParameter) -> Callable[[Array], Pixels]:
    """Return the part of a transform that only changes values: subtracting the mean, and scaling."""
    refuse_for("images with maps", transform)
    settings = copy_of(
        transform, without=("mirror", "crop_size", "crop_h", "crop_w", "crop_height", "crop_width", "scale_factors")
    )
    constant_transform, unused = Transform(settings, train=False), np.random.default_rng(0)
    if not constant_transform.constant:
        raise DataError("transform_param resizes images but not their labels; set new_height and new_width instead")
    return lambda image: constant_transform(image, unused)
