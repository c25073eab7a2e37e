"""Transform of an image together with the labels of its pixels: both are scaled, cropped and mirrored alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from netdsl.data.transforms.decode import Interpolation, resize
from netdsl.data.transforms.mean import Pixels
from netdsl.data.types import Array, Random
from netdsl.errors import DataError


@dataclass(frozen=True)
class PairedTransform:
    """A transform of an image and its labels. `values` does what doesn't move pixels: it subtracts the mean and scales.

    `crop` is a height and a width, at a random place or in the middle. With `padding`, which is a label, smaller images
    are padded at the right and at the bottom: with zeros after `values`, which is the same as with the mean before.
    `scales` are the factors of which one is drawn for each image.
    """

    values: Callable[[Array], Pixels]
    crop: tuple[int, int] | None
    at_random: bool
    mirror: bool
    padding: int | None = None
    scales: tuple[float, ...] = ()

    def __call__(self, image: Array, labels: Array, random: Random, where: str) -> tuple[Pixels, Pixels]:
        """The image and its labels as the net gets them; `where` names the image in errors."""
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
            _padded(pixels, size, 0, mirrored),
            _padded(labels[window][:, :, ::step], size, self.padding or 0, mirrored),
        )

    def _scaled(self, image: Array, labels: Array, random: Random) -> tuple[Array, Array]:
        scale = np.float32(self.scales[random.integers(len(self.scales))]) if self.scales else np.float32(1)
        if scale == 1:
            return image, labels
        height, width = (int(np.float32(length) * scale) for length in image.shape[1:])
        return resize(image, height, width), resize(labels, height, width, Interpolation.NEAREST)

    def _check(self, shape: tuple[int, ...], size: tuple[int, int], where: str) -> None:
        if self.padding is None and (size[0] > shape[1] or size[1] > shape[2]):
            raise DataError(
                f"{where}: a crop of {size[0]} x {size[1]} is larger than the image, {shape[1]} x {shape[2]}"
            )

    def _window(self, shape: tuple[int, ...], size: tuple[int, int], random: Random) -> tuple[slice, slice, slice]:
        margins = [max(length - cropped, 0) for length, cropped in zip(shape[1:], size, strict=True)]
        top, left = (int(random.integers(margin + 1)) if self.at_random else margin // 2 for margin in margins)
        return slice(None), slice(top, top + size[0]), slice(left, left + size[1])


def _padded(values: Array, size: tuple[int, int], padding: int, mirrored: bool) -> Pixels:
    """The values in an array of a size, padded at the right, or at the left if they are mirrored."""
    channels, height, width = values.shape
    result = np.full((channels, *size), padding, np.float32)
    left = size[1] - width if mirrored else 0
    result[:, :height, left : left + width] = values
    return result
