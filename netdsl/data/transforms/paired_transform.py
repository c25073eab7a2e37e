"""What is done to an image and the labels of its pixels together: scaled, cropped, mirrored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from netdsl.data.sources.source import Array
from netdsl.data.transforms.decode import Interpolation, resize
from netdsl.data.transforms.mean import Values
from netdsl.errors import DataError


@dataclass(frozen=True)
class PairedTransform:
    """`crop` is a height and a width, at a random place or in the middle.

    With a `padding`, which is a label, images that are smaller are filled up at the right and at the bottom: with
    zeros after `values` made the net's numbers of an image, which is the same as with its mean before.
    """

    values: Callable[[Array], Values]
    crop: tuple[int, int] | None
    at_random: bool
    mirror: bool
    padding: int | None = None
    scales: tuple[float, ...] = ()

    def __call__(self, image: Array, labels: Array, random: np.random.Generator, where: str) -> tuple[Values, Values]:
        """Image and labels as the net gets them."""
        if image.shape[1:] != labels.shape[1:]:
            raise DataError(f"{where}: the image is {image.shape[1:]} and its labels are {labels.shape[1:]}")
        mirrored = self.mirror and bool(random.integers(2))
        image, labels = self._scaled(image, labels, random)
        size = self.crop or (image.shape[1], image.shape[2])
        self._check(image.shape, size, where)
        window = self._window(image.shape, size, random)
        step = -1 if mirrored else 1
        pixels = self.values(image[window][:, :, ::step])
        return (
            _placed(pixels, size, 0, mirrored),
            _placed(labels[window][:, :, ::step], size, self.padding or 0, mirrored),
        )

    def _scaled(self, image: Array, labels: Array, random: np.random.Generator) -> tuple[Array, Array]:
        scale = np.float32(self.scales[random.integers(len(self.scales))]) if self.scales else np.float32(1)
        if scale == 1:
            return image, labels
        height, width = (int(np.float32(each) * scale) for each in image.shape[1:])
        return resize(image, height, width), resize(labels, height, width, Interpolation.NEAREST)

    def _check(self, shape: tuple[int, ...], size: tuple[int, int], where: str) -> None:
        if self.padding is None and (size[0] > shape[1] or size[1] > shape[2]):
            raise DataError(
                f"{where}: a crop of {size[0]} x {size[1]} is larger than the image, {shape[1]} x {shape[2]}"
            )

    def _window(
        self, shape: tuple[int, ...], size: tuple[int, int], random: np.random.Generator
    ) -> tuple[slice, slice, slice]:
        free = [max(each - wanted, 0) for each, wanted in zip(shape[1:], size, strict=True)]
        top, left = (int(random.integers(each + 1)) if self.at_random else each // 2 for each in free)
        return slice(None), slice(top, top + size[0]), slice(left, left + size[1])


def _placed(values: Array, size: tuple[int, int], padding: int, mirrored: bool) -> Values:
    """In an array of a size; what is added at the right is mirrored too."""
    channels, height, width = values.shape
    result = np.full((channels, *size), padding, np.float32)
    left = size[1] - width if mirrored else 0
    result[:, :height, left : left + width] = values
    return result
