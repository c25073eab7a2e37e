"""SSD's `expand_param`: an image at a random place of a larger one, so that its objects look small."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.boxes import Box
from netdsl.data.types import Array, Random
from netdsl.errors import DataError

_MOST_PIXELS = 1 << 28  # of what is cut out of a canvas
_ALMOST_ONE = 1.01  # Caffe's rule: a ratio up to here expands nothing


class PixelWindow(NamedTuple):
    """A window of a canvas in pixels."""

    top: int
    left: int
    height: int
    width: int


class Canvas(NamedTuple):
    """A size, and the place in it of an image of its own size, in pixels. It is never filled as a whole."""

    height: int
    width: int
    top: int = 0
    left: int = 0

    def edges(self, height: int, width: int) -> Box:
        """The canvas' edges as parts of an image of this size."""
        corners = [-self.left, -self.top, self.width - self.left, self.height - self.top]
        return np.array(corners, np.float32) / np.array([width, height] * 2, np.float32)

    def pixels(self, window: Box) -> PixelWindow:
        """The pixels of a window, whose edges are parts of the canvas: as in Caffe whole ones, but one at least."""
        left, top, right, bottom = window * np.array([self.width, self.height] * 2, np.float32)
        height, width = max(1, int(bottom - top)), max(1, int(right - left))
        if height * width > _MOST_PIXELS:
            raise DataError(
                f"expand_param makes an image of {height} x {width}, which is too large; use smaller images"
            )
        return PixelWindow(min(int(top), self.height - height), min(int(left), self.width - width), height, width)

    def part(self, image: Array, window: PixelWindow) -> Array:
        """The part of an image of height, width, channels that lies in a window."""
        top, left = window.top - self.top, window.left - self.left
        return image[max(0, top) : max(0, top + window.height), max(0, left) : max(0, left + window.width)]

    def filled(self, part: Array, window: PixelWindow, fill: Array) -> Array:
        """A whole window, with that part of the image at its place and `fill` around it."""
        if part.shape[:2] == (window.height, window.width):
            return part
        channels = part.shape[2]
        pixels = np.empty((window.height, window.width, channels), part.dtype)
        pixels.reshape(window.height, -1)[...] = np.tile(np.broadcast_to(fill, channels), window.width)  # by rows: fast
        top, left = max(0, self.top - window.top), max(0, self.left - window.left)
        pixels[top : top + part.shape[0], left : left + part.shape[1]] = part
        return pixels


class Expansion:
    """The draw of canvases. What an image leaves of its canvas is filled with the mean, or black without one."""

    def __init__(self, p: pb.TransformationParameter) -> None:
        self._param = p.expand_param if p.HasField("expand_param") else None
        if self._param is not None and not self._param.max_expand_ratio > 1:
            raise DataError(f"expand_param's max_expand_ratio is {self._param.max_expand_ratio:g}; it must be above 1")
        if self._param is not None and p.mean_file:
            raise DataError("expand_param makes images of many sizes, for which mean_file has no mean; give mean_value")
        self._mean = np.rint(np.array(p.mean_value, np.float32)).clip(0, 255).astype(np.uint8)

    def __call__(self, height: int, width: int, random: Random) -> Canvas:
        """A canvas for an image of this size: its own, or a larger one of the same proportions."""
        param = self._param
        if param is None or random.random() >= param.prob or param.max_expand_ratio < _ALMOST_ONE:
            return Canvas(height, width)
        ratio = np.float32(random.uniform(1, param.max_expand_ratio))
        high, wide = int(np.float32(height) * ratio), int(np.float32(width) * ratio)
        top, left = (int(random.uniform(0, free)) for free in (high - height, wide - width))
        return Canvas(high, wide, top, left)

    def fill(self, channels: int) -> Array:
        """The values around an image of so many channels."""
        if len(self._mean) not in (0, 1, channels):
            raise DataError(
                f"transform_param has {len(self._mean)} mean_values for {channels} channels: give one for each"
            )
        return self._mean if len(self._mean) else np.zeros(1, np.uint8)
