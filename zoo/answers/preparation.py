"""The preparation of images for a net: what a data layer does in tests, by a card's settings or by the layer's own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.channels import in_color
from netdsl.data.transforms.decode import Color
from netdsl.data.transforms.image_settings import crop_of, describe, resize_of
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


class Preparation:
    """A preparation of images by the settings of a data layer, which resize or crop them.

    The settings are for images whose channels have the order that the net takes.
    """

    def __init__(self, settings: pb.TransformationParameter, channels: Channels) -> None:
        self._settings, self.channels = settings, channels
        self._transform = Transform(settings, train=False)
        resized = resize_of(settings)
        size = crop_of(settings) or resized
        assert size is not None
        self.size = ImageSize(*size)
        if resized is not None:
            self._transform.shape(1, *resized)  # says if the crop is larger

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
            values = self._transform(pixels, np.random.default_rng(_SEED))
        except DataError as problem:
            raise DataError(f"{where}: {problem}") from None
        own = ImageSize(*image.shape[1:])
        placement = Placement(own, ImageSize(*(resize_of(self._settings) or own)), self.size)
        return PreparedImage(values, placement, image if keep else None)

    def __str__(self) -> str:
        return f"{self.channels.value} with values from 0 to 255, {describe(self._settings)}"
