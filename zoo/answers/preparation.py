"""The preparation of images for a net: what a data layer does in tests, by a card's settings or by the layer's own.

Nets that look at regions take images of any size, and are told it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.decode import Color, in_color
from netdsl.data.transforms.image_settings import crop_of, describe, resize_of
from netdsl.data.transforms.resizing import ShortSide
from netdsl.data.transforms.transform import Transform
from netdsl.errors import DataError
from zoo.answers.placement import ImageSize, Numbers, Placement
from zoo.cards import Channels

_SEED = 0  # of the interpolation, where `resize_param` has several


@dataclass(frozen=True)
class PreparedImage:
    """A net's input for an image, where it lies in it, and, if somebody is going to draw on it, the image."""

    values: Numbers
    placement: Placement
    image: Numbers | None = None


class Preparation(ABC):
    """A preparation of images, whose channels get the net's order; `size` is that of most of them."""

    size: ImageSize

    def __init__(self, channels: Channels) -> None:
        self.channels = channels

    @property
    def color(self) -> Color:
        """What image files are decoded to."""
        return Color.GRAY if self.channels is Channels.GRAY else Color.COLOR

    def __call__(self, image: Numbers, where: str, *, keep: bool = False) -> PreparedImage:
        """The input for an image of channels, height, width in the order blue, green, red; `keep` keeps the image."""
        try:
            pixels = in_color(image, self.color)
            if self.channels is Channels.RGB:
                pixels = pixels[::-1]
            values, placement = self._prepared(pixels)
        except DataError as problem:
            raise DataError(f"{where}: {problem}") from None
        return PreparedImage(values, placement, image if keep else None)

    def __str__(self) -> str:
        return f"{self.channels.value} with values from 0 to 255, {self._described()}"

    @abstractmethod
    def _prepared(self, pixels: Numbers) -> tuple[Numbers, Placement]:
        """The input for pixels, and where the image lies in it."""

    @abstractmethod
    def _described(self) -> str:
        """What is done to values and sizes, in words."""


class LayerPreparation(Preparation):
    """A preparation of images by the settings of a data layer, which resize or crop them.

    The settings are for images whose channels have the order that the net takes.
    """

    def __init__(self, settings: pb.TransformationParameter, channels: Channels) -> None:
        super().__init__(channels)
        self._settings = settings
        self._transform = Transform(settings, train=False)
        resized = resize_of(settings)
        size = crop_of(settings) or resized
        assert size is not None
        self.size = ImageSize(*size)
        if resized is not None:
            self._transform.shape(1, *resized)  # says if the crop is larger

    def _prepared(self, pixels: Numbers) -> tuple[Numbers, Placement]:
        own = ImageSize(*pixels.shape[1:])
        placement = Placement(own, ImageSize(*(resize_of(self._settings) or own)), self.size)
        return self._transform(pixels, np.random.default_rng(_SEED)), placement

    def _described(self) -> str:
        return describe(self._settings)


class ShortSidePreparation(Preparation):
    """A preparation of images that keep their proportions, with one length of the shorter side."""

    def __init__(self, sizing: ShortSide, channels: Channels) -> None:
        super().__init__(channels)
        self._sizing = sizing
        self.size = ImageSize(round(sizing.length), round(sizing.longest))

    def _prepared(self, pixels: Numbers) -> tuple[Numbers, Placement]:
        values, scale = self._sizing(pixels)
        size = ImageSize(*values.shape[1:])
        return values, Placement(ImageSize(*pixels.shape[1:]), size, size, scale)

    def _described(self) -> str:
        return str(self._sizing)
