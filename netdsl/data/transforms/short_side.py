"""Images whose shorter side gets one length, as Fast R-CNN and what came after it take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from netdsl.data.transforms.decode import rescale
from netdsl.data.types import Array

LONGEST = 1000  # pixels
COLOUR_MEANS = (102.9801, 115.9465, 122.7717)  # that Fast R-CNN takes off blue, green and red


@dataclass(frozen=True)
class ShortSide:
    """The length of an image's shorter side, unless its longer one gets more than `longest`, and the colours' means.

    Values are multiplied by `factor` then.
    """

    length: float = 600
    longest: float = LONGEST
    means: Sequence[float] = COLOUR_MEANS
    factor: float = 1

    def __call__(self, image: Array) -> tuple[Array, float]:
        """An image less the means of its channels, in its new size, and how many times as large that is."""
        shorter, longer = sorted(image.shape[1:])
        scale = self.length / shorter
        if round(scale * longer) > self.longest:
            scale = self.longest / longer
        values = (image - np.array(self.means).reshape(-1, 1, 1)) * self.factor
        return rescale(values.astype(np.float32), scale), scale

    def __str__(self) -> str:
        means = ",".join(f"{value:g}" for value in self.means)
        factor = f", times {self.factor:g}" if self.factor != 1 else ""
        return (
            f"their shorter side {self.length:g}, or the longer {self.longest:g} if that is less, minus {means}{factor}"
        )
