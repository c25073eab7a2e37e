"""Intel's `random_aspect_ratio_param`: parts of images, of any size and proportions, become squares."""

from __future__ import annotations

import math

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.resizing import ImageResizing
from netdsl.data.types import Array, Random
from netdsl.errors import DataError

_STEPS = 1000  # that a ratio is drawn in


class RandomArea:
    """A part of an image that has a share of its area and is wider or higher than a square, by chance.

    If none of some attempts fits into the image, the whole of it is resized, so that its shorter side is the square's.
    """

    def __init__(self, p: pb.RandomAspectRatioParameter, side: int) -> None:
        self._p, self.side = p, side
        if not side:
            raise DataError("random_aspect_ratio_param needs a crop_size, which is the size of what it makes")
        if not 0 < p.min_area_ratio <= p.max_area_ratio or not 0 < p.aspect_ratio_change <= 1:
            raise DataError(
                "random_aspect_ratio_param needs areas above 0, the least first, and an aspect_ratio_change up to 1"
            )

    def __call__(self, image: Array, random: Random) -> Array:
        """The image, or a part of it, in its new size. The order of what is drawn is Intel's."""
        height, width = image.shape[-2:]
        for _ in range(self._p.max_attempt):
            high, wide = self._drawn(height * width, random)
            if high <= height and wide <= width:
                top, left = int(random.integers(height - high + 1)), int(random.integers(width - wide + 1))
                return self._resized(image[:, top : top + high, left : left + wide], self.side, self.side, random)
        longer = [int(np.float32(side) / np.float32(min(height, width)) * self.side) for side in (height, width)]
        return self._resized(image, longer[0], longer[1], random)

    def _drawn(self, area: int, random: Random) -> tuple[int, int]:
        """The height and width of a part, which are exchanged in half of the cases."""
        change = np.float32(self._p.aspect_ratio_change)
        new_area = _ratio(np.float32(self._p.min_area_ratio), np.float32(self._p.max_area_ratio), random) * area
        stretch = _ratio(change, 1 / change, random)
        sides = [max(1, int(math.sqrt(new_area) * stretch)), max(1, int(math.sqrt(new_area) / stretch))]
        high, wide = sides[::-1] if _ratio(np.float32(0), np.float32(1), random) < 0.5 else sides
        return high, wide

    def _resized(self, image: Array, height: int, width: int, random: Random) -> Array:
        settings = pb.ResizeParameter()
        settings.CopyFrom(self._p.resize_param)
        settings.height, settings.width = height, width
        return ImageResizing(settings)(image, random)


def _ratio(least: np.float32, most: np.float32, random: Random) -> float:
    return (int(random.integers(int((most - least) * _STEPS + 1))) + float(least) * _STEPS) / _STEPS
