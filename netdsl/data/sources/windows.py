"""R-CNN's training data: windows cut from images, labelled with the class of what they show."""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.listing import read_bytes
from netdsl.data.sources.source import Item
from netdsl.data.sources.window_file import read_windows
from netdsl.data.transforms.decode import Color, decode, resize
from netdsl.data.transforms.mean import Mean, Pixels
from netdsl.data.transforms.region import Region, WindowPlacement
from netdsl.data.types import Array
from netdsl.errors import DataError


class ImageWindow(NamedTuple):
    """A window that was drawn, and the image file that it is in."""

    path: str
    data: bytes
    region: Region
    label: int
    mirrored: bool


class WindowSource:
    """An endless sequence of windows, drawn at random; an item is one of crop_size, ready for the net, and its label.

    Caffe fills every batch with windows of background, then with a share of objects. So whether item i is an object
    follows from i modulo the batch size, and which window it is from (seed, i) alone: the sequence has no state, and
    can be read from any index on. It needs no Transform and no shuffling, and its length is the largest possible.
    """

    def __init__(self, p: pb.WindowDataParameter, transform: pb.TransformationParameter, *, seed: int = 0) -> None:
        _check(p, transform)
        self._p, self._seed = p, seed
        self._mirror, self._size = transform.mirror, transform.crop_size
        self._objects = int(np.float32(p.batch_size) * np.float32(p.fg_fraction))
        self._placement = WindowPlacement(self._size, p.context_pad, square=p.crop_mode == "square")
        self._mean = Mean(transform)
        self._offset = self._mean_offset()
        self._file = read_windows(p)
        self._cache = [read_bytes(path) for path in self._file.paths] if p.cache_images else []

    def _mean_offset(self) -> int:
        """The corner of the windows' part of the mean image: as in Caffe centred in its width, and as far down."""
        if self._mean.image is None:
            return 0
        _, height, width = self._mean.image.shape
        offset: int = (width - self._size) // 2
        if offset < 0 or offset + self._size > height:
            raise DataError(f"mean_file {self._mean.file}: {height} x {width} has no room for a crop of {self._size}")
        return offset

    def __len__(self) -> int:
        return sys.maxsize

    @property
    def image_count(self) -> int:
        """How many images there are."""
        return len(self._file.paths)

    def fetch(self, index: int) -> ImageWindow:
        """Draw a window, and read the image file that it is in."""
        random = np.random.default_rng((self._seed, index))
        is_object = index % self._p.batch_size >= self._p.batch_size - self._objects
        windows = self._file.objects if is_object else self._file.background
        image, label, *corners = windows[random.integers(len(windows))].tolist()
        path = self._file.paths[image]
        data = self._cache[image] if self._cache else read_bytes(path)
        return ImageWindow(path, data, Region(*corners), label, self._mirror and bool(random.integers(2)))

    def item(self, fetched: ImageWindow) -> Item:
        """The window in its new size, with zeros where it goes beyond the image, and its label."""
        image = decode(fetched.data, Color.COLOR, fetched.path)
        place = self._placement.place(fetched.region, image.shape[1], image.shape[2], fetched.mirrored, fetched.path)
        pixels = resize(image[place.source], place.height, place.width)
        result = np.zeros((len(image), self._size, self._size), np.float32)
        inside = slice(None), slice(place.top, place.top + place.height), slice(place.left, place.left + place.width)
        self._fill(result[inside], pixels[:, :, ::-1] if fetched.mirrored else pixels, inside)
        return result, np.array(fetched.label, np.float32)

    def _fill(self, target: Pixels, pixels: Array, inside: tuple[slice, slice, slice]) -> None:
        target[...] = pixels
        mean = self._mean_of(len(pixels))
        if mean is not None:
            target -= mean[inside]
        target *= np.float32(self._p.scale)  # Caffe takes window_data_param's, and never looks at transform_param's

    def _mean_of(self, channels: int) -> Pixels | None:
        """The mean for a whole square."""
        image = self._mean.image
        if image is None:
            return self._mean.of_channels(channels, self._size, self._size)
        if len(image) != channels:
            raise DataError(f"mean_file {self._mean.file} has {len(image)} channels, the image has {channels}")
        return image[:, self._offset :, self._offset :]

    def close(self) -> None:
        """Free the images in memory."""
        self._cache = []


def _check(p: pb.WindowDataParameter, transform: pb.TransformationParameter) -> None:
    if not transform.crop_size:
        raise DataError("WindowData needs a crop_size in transform_param, which is the size of its windows")
    if transform.crop_size <= 2 * p.context_pad:
        raise DataError(f"context_pad {p.context_pad} leaves nothing of a crop_size of {transform.crop_size}")
    if p.crop_mode not in ("warp", "square"):
        raise DataError(f"crop_mode '{p.crop_mode}' is neither 'warp' nor 'square'")
    if not 0 <= p.fg_fraction <= 1 or not p.batch_size:
        raise DataError(
            f"fg_fraction is {p.fg_fraction:g} and batch_size {p.batch_size}; they must be from 0 to 1, and 1 or more"
        )
