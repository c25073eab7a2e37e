"""Where in an image the part lies that a net sees, so that boxes and masks find their way back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]


class ImageSize(NamedTuple):
    """Height and width in pixels."""

    height: int
    width: int


class Corners(NamedTuple):
    """A box in an image's own pixels."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class Placement:
    """An image's own size, the size that it was brought to, and the size of what was then cut out of its middle.

    `scale` is how many times as large the image was made, where it kept its proportions; sizes are rounded.
    """

    image: ImageSize
    resized: ImageSize
    crop: ImageSize
    scale: float | None = None

    def window(self) -> tuple[slice, slice]:
        """The rows and columns of the resized image that the net sees. Caffe's rule: halves are rounded down."""
        top, left = ((whole - part) // 2 for whole, part in zip(self.resized, self.crop, strict=True))
        return slice(top, top + self.crop.height), slice(left, left + self.crop.width)

    def corners(self, left: float, top: float, right: float, bottom: float) -> Corners:
        """A box in parts of what the net sees as one in the image, without what lies beyond the image."""
        rows, columns = self.window()
        (x1, x2), (y1, y2) = (
            [min(max((start + part * length) / whole, 0), 1) * own for part in parts]
            for parts, start, length, whole, own in (
                ((left, right), columns.start, self.crop.width, self.resized.width, self.image.width),
                ((top, bottom), rows.start, self.crop.height, self.resized.height, self.image.height),
            )
        )
        return Corners(x1, y1, x2, y2)

    def boxes_on_image(self, boxes: Numbers) -> Numbers:
        """Boxes in pixels that the net sees as ones in the image's own pixels."""
        rows, columns = self.window()
        scales = [self.scale or whole / own for whole, own in zip(self.resized, self.image, strict=True)]
        moved: Numbers = (boxes + [columns.start, rows.start] * 2) / (scales[::-1] * 2)
        return moved

    def on_image(self, labels: Numbers) -> Numbers:
        """What a net says of its pixels, of any size, for each pixel of the image; -1 where the net doesn't see it."""
        indices = [
            _nearest(own, whole, window, length)
            for own, whole, window, length in zip(self.image, self.resized, self.window(), labels.shape, strict=True)
        ]
        result = labels[np.ix_(*(np.maximum(places, 0) for places in indices))].astype(np.int64)
        result[indices[0] < 0] = -1
        result[:, indices[1] < 0] = -1
        return result


def _nearest(own: int, whole: int, window: slice, length: int) -> Numbers:
    """For each pixel along an axis of the image the nearest of `length` labels in a window; -1 for those beyond it."""
    places = (np.arange(own) + 0.5) * whole / own - window.start
    inside = (places >= 0) & (places < window.stop - window.start)
    labels = np.minimum(places * length / (window.stop - window.start), length - 1)
    return np.where(inside, labels, -1).astype(np.int64)
